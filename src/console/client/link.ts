const kinds = ['enter', 'confirm', 'reset'] as const

/** A link to sign in, to confirm an address or to reset a password. */
export type SignInLink = { readonly kind: (typeof kinds)[number]; readonly secret: string }

function readLink(hash: string): SignInLink | undefined {
  const found = /^#(\w+)=(\S+)$/.exec(hash)
  const kind = kinds.find((each) => each === found?.[1])
  return kind === undefined || found?.[2] === undefined ? undefined : { kind, secret: found[2] }
}

/** The secret is removed from the address bar at once. */
let came = readLink(location.hash)
if (came) history.replaceState(null, '', location.pathname)

/** A link opened in a tab with the console only changes the hash: the page reloads. */
addEventListener('hashchange', () => {
  if (readLink(location.hash)) location.reload()
})

/** A link takes precedence over an earlier session. */
export const hasLink = (): boolean => came !== undefined

/** Returns the link once. */
export function takeLink(): SignInLink | undefined {
  const link = came
  came = undefined
  return link
}
