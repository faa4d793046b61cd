export type ProxyEndpoint = {
  readonly host: string
  readonly port: number
  readonly login: string
  readonly password: string
  readonly protocol: 'http' | 'socks' | 'both'
  /** Where the proxy is reached over TLS, if it is; `browserHost` is the name that asks for a login. */
  readonly tls?: { readonly host: string; readonly port: number; readonly browserHost: string | null } | undefined
}

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host)

/** Escapes also what a shell, Python or JavaScript would read as a quote. */
const escaped = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`)

export const toUrl = (of: ProxyEndpoint): string => urlOf(of, of.protocol === 'socks' ? 'socks5' : 'http')

/** The first part of a proxy URL: how the program reaches the proxy. */
export type Scheme = 'http' | 'https' | 'socks5'

export const schemesOf = ({ protocol, tls }: ProxyEndpoint): readonly Scheme[] => [
  ...(protocol === 'socks' ? [] : (['http'] as const)),
  ...(tls === undefined || protocol === 'socks' ? [] : (['https'] as const)),
  ...(protocol === 'http' ? [] : (['socks5'] as const)),
]

const placeOf = ({ host, port, tls }: ProxyEndpoint, scheme: Scheme) =>
  scheme === 'https' && tls !== undefined ? tls : { host, port }

function addressOf(of: ProxyEndpoint, scheme: Scheme): string {
  const { host, port } = placeOf(of, scheme)
  return `${bracketed(host)}:${port}`
}

/** With `socks5h` the proxy resolves names. */
const urlOf = (of: ProxyEndpoint, scheme: Scheme): string =>
  `${scheme === 'socks5' ? 'socks5h' : scheme}://${escaped(of.login)}:${escaped(of.password)}@${addressOf(of, scheme)}`

const target = 'https://example.com'

/** Where a browser reaches the proxy: over TLS by another name. */
const forBrowser = (of: ProxyEndpoint): ProxyEndpoint => ({
  ...of,
  tls: of.tls && { ...of.tls, host: of.tls.browserHost ?? of.tls.host },
})

/** What each program needs to use a proxy. Chrome and Firefox take no login there: they ask for it. */
const snippets = {
  curl: (of: ProxyEndpoint, scheme: Scheme) => `curl -x "${urlOf(of, scheme)}" ${target}`,
  Chrome: (of: ProxyEndpoint, scheme: Scheme) => `chrome --proxy-server="${scheme}://${addressOf(of, scheme)}"`,
  Firefox: (of: ProxyEndpoint, scheme: Scheme) =>
    `data:text/plain,${encodeURI(`function FindProxyForURL(){return "${pacTypes[scheme]} ${addressOf(of, scheme)}"}`)}`,
  Python: (of: ProxyEndpoint, scheme: Scheme) =>
    [
      scheme === 'socks5' ? "# pip install 'requests[socks]'" : '# pip install requests',
      'import requests',
      '',
      `proxy = '${urlOf(of, scheme)}'`,
      `answer = requests.get('${target}', proxies={'http': proxy, 'https': proxy}, timeout=30)`,
      'print(answer.status_code)',
    ].join('\n'),
  Playwright: (of: ProxyEndpoint, scheme: Scheme) => {
    const server = JSON.stringify(`${scheme}://${addressOf(of, scheme)}`)
    const access = `username: ${JSON.stringify(of.login)}, password: ${JSON.stringify(of.password)}`
    return `const browser = await chromium.launch({ proxy: { server: ${server}, ${access} } })`
  },
  'sing-box': (of: ProxyEndpoint, scheme: Scheme) => {
    const { host, port } = placeOf(of, scheme)
    const outbound = {
      type: scheme === 'socks5' ? 'socks' : 'http',
      tag: 'proxy',
      server: host,
      server_port: port,
      ...(scheme === 'socks5' && { version: '5' }),
      username: of.login,
      password: of.password,
      ...(scheme === 'https' && { tls: { enabled: true, server_name: host } }),
    }
    return JSON.stringify(outbound, undefined, 2)
  },
  mihomo: (of: ProxyEndpoint, scheme: Scheme) => {
    const { host, port } = placeOf(of, scheme)
    // A string of JSON is a string of YAML.
    const fields = [
      'name: proxy',
      `type: ${scheme === 'socks5' ? 'socks5' : 'http'}`,
      `server: ${JSON.stringify(host)}`,
      `port: ${port}`,
      `username: ${JSON.stringify(of.login)}`,
      `password: ${JSON.stringify(of.password)}`,
      ...(scheme === 'https' ? ['tls: true', `sni: ${JSON.stringify(host)}`] : []),
      ...(scheme === 'socks5' ? ['udp: true'] : []),
    ]
    return ['proxies:', ...fields.map((each, index) => `${index === 0 ? '  - ' : '    '}${each}`)].join('\n')
  },
}
const pacTypes = { http: 'PROXY', https: 'HTTPS', socks5: 'SOCKS5' }

export type Program = keyof typeof snippets
export const programs = Object.keys(snippets) as readonly Program[]

/** These send a login only after a 407, and none over SOCKS5. */
const browsers: readonly Program[] = ['Chrome', 'Firefox', 'Playwright']

/** The text to copy into a program; undefined if the program cannot use the scheme. */
export function toSnippet(of: ProxyEndpoint, scheme: Scheme, program: Program): string | undefined {
  if (!browsers.includes(program)) return snippets[program](of, scheme)
  const isRefused = scheme === 'socks5' || (scheme === 'https' && of.tls?.browserHost === null)
  return isRefused ? undefined : snippets[program](forBrowser(of), scheme)
}

/** Apps of phones write `socks5`, and resolve names at the proxy. */
export const toPhoneUrl = (of: ProxyEndpoint, scheme: Scheme): string =>
  urlOf(of, scheme).replace(/^socks5h:/, 'socks5:')

export const toTelegram = ({ host, port, login, password }: ProxyEndpoint): string =>
  `tg://socks?${new URLSearchParams({ server: host, port: String(port), user: login, pass: password })}`

/** The ways to write an endpoint on one line, by their numbers in an export; `https` is the URL over TLS. */
export const lineForms = ['1', '2', '4', 'https'] as const
export type LineForm = (typeof lineForms)[number]

/** Undefined for the URL over TLS of a proxy that has none. */
export function toLine(of: ProxyEndpoint, form: LineForm): string | undefined {
  if (form === 'https') return schemesOf(of).includes('https') ? urlOf(of, 'https') : undefined
  const address = `${bracketed(of.host)}:${of.port}`
  const access = `${of.login}:${of.password}`
  return { 1: `${address}:${access}`, 2: `${access}@${address}`, 4: toUrl(of) }[form]
}
