/** The referral code of a link such as `/?ref=CODE`; undefined without one, or for a text that no code is. */
export function readReferral(sent: URLSearchParams): string | undefined {
  const code = sent.get('ref')?.trim() ?? ''
  return /^[A-Za-z0-9_-]{1,40}$/.test(code) ? code : undefined
}

/** A page whose links to the account, to a purchase and to its other language keep the code. */
export const keepReferral = (html: string, code: string): string =>
  html
    .replaceAll('href="/account"', `href="/account?ref=${code}"`)
    .replace(/href="(\/(?:buy)?\?)/g, (_, start: string) => `href="${start}ref=${code}&amp;`)
