/** The seller's contact as visitors see it, and the `mailto:` or `https:` link to it. */
export type Contact = { readonly text: string; readonly url: string }

/** An e-mail address or an https URL. A URL with a login or password is refused: every visitor sees the contact. */
export function readContact(text: string): Contact | undefined {
  if (/^[\w.+-]{1,64}@[\p{L}\p{N}][\p{L}\p{N}.-]{0,189}$/u.test(text)) return { text, url: `mailto:${text}` }
  const url = /^https:\/\/[^\s\p{Cc}]{1,250}$/u.test(text) ? URL.parse(text) : null
  return url && url.username + url.password === '' ? { text, url: url.href } : undefined
}
