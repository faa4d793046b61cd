/** The text that a newcomer reads first. Every command in it can be pasted into a shell. */
export function banner(
  baseUrl: string,
  token: string | undefined,
  more: {
    readonly links?: { readonly customer: string; readonly operator: string } | undefined
    /** Where the shop listens, if customers reach it elsewhere. */
    readonly listensAt?: string
    /** Whether its certificate is not there yet. */
    readonly isAwaited?: boolean
    /** Whether this is a sandbox whose token was shown at an earlier start. */
    readonly hasEarlierToken?: boolean
    /** Whether a VPN node of this machine is expected, or a gateway that serves VPN devices. */
    readonly hasVpnNode?: boolean
    /** Whether the console's files are there. */
    readonly isConsoleBuilt?: boolean
    /** Whether this is a production shop without an operator. */
    readonly needsOperator?: boolean
  } = {},
): string {
  const { links } = more
  const first = more.isAwaited
    ? `Turnpike waits for its certificate; the log says why. It opens by itself, at ${baseUrl}`
    : `Turnpike is open at ${more.listensAt ?? baseUrl}`
  const isElsewhere = more.listensAt !== undefined && more.listensAt !== baseUrl
  const elsewhere = `Customers reach it at ${baseUrl} (TURNPIKE_PUBLIC_URL), if that address leads here.`
  const lines = [first, ...(isElsewhere ? [elsewhere] : []), `  docs  ${baseUrl}/docs`, `  API   ${baseUrl}/api/v1`]
  if (more.isConsoleBuilt === false) {
    lines.push('', 'The web console is not built. Build it, then restart the shop:', '', '  npm run console')
  } else if (links) {
    lines.push(
      '',
      'Two links open the console of this sandbox, each once and within a day:',
      '',
      `  as its customer  ${baseUrl}/#enter=${links.customer}`,
      `  as its operator  ${baseUrl}/operator#enter=${links.operator}`,
    )
  }
  if (more.needsOperator) lines.push(...firstOperator)
  if (token === undefined) return `${[...lines, ...(more.hasEarlierToken ? earlierToken : [])].join('\n')}\n`
  const quote = `'${baseUrl}/api/v1/dedicated/quote?country_code=DE&period=30&count=2&ipv=4'`
  return `${[
    ...lines,
    '',
    'This is a sandbox: a customer with 100,000 roubles that are not real. Its token, shown this once:',
    '',
    `  export TOKEN='${token.replaceAll("'", `'\\''`)}'`,
    '',
    'Try:',
    '',
    `  curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/api/v1/balance`,
    `  curl -H "Authorization: Bearer $TOKEN" ${quote}`,
    `  curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -H 'Idempotency-Key: first' \\`,
    `    -d '{"country_code":"DE","period":30,"count":2,"ipv":4}' ${baseUrl}/api/v1/dedicated/buy`,
    ...(more.hasVpnNode ? [] : withoutVpnNode),
  ].join('\n')}\n`
}

const firstOperator = [
  '',
  'The shop has no operator yet. To create the first one and print a sign-in link for the console:',
  '',
  '  turnpike operator add NAME --role owner',
]

const earlierToken = [
  '',
  'This is a sandbox. Its token was shown when it was first started. To create another one (sources: npx turnpike):',
  '',
  '  turnpike customer list',
  '  turnpike token create CUSTOMER_ID',
]

const withoutVpnNode = [
  '',
  'VPN needs a VPN node on Linux with root and WireGuard: "turnpike up --local-nodes vpn" starts one.',
  'Without a node a sandbox sells VPN subscriptions that do not connect, and says so in "warnings".',
]
