const kinds = ['enter', 'confirm', 'reset'] as const

/** A link that somebody was shown or sent: what it is for, and its secret. */
export type Link = { readonly kind: (typeof kinds)[number]; readonly secret: string }

function readLink(hash: string): Link | undefined {
  const found = /^#(\w+)=(\S+)$/.exec(hash)
  const kind = kinds.find((each) => each === found?.[1])
  return kind === undefined || found?.[2] === undefined ? undefined : { kind, secret: found[2] }
}

/** Taken from the address before anything else looks at it, and nobody finds it there afterwards. */
let came = readLink(location.hash)
if (came) history.replaceState(null, '', location.pathname)

/** A link that is opened where the console is open already comes as a change of the address: it begins anew. */
addEventListener('hashchange', () => {
  if (readLink(location.hash)) location.reload()
})

/** Whoever comes with a link wants in by it, whoever was signed in before. */
export const hasLink = (): boolean => came !== undefined

/** The link that somebody came with, once. */
export function takeLink(): Link | undefined {
  const link = came
  came = undefined
  return link
}
