const baseStyle = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { margin: 0 auto; max-width: 30rem; padding: 1.5rem }
h1 { font-size: 1.3rem; margin: 0 0 .25rem }
p { margin: .5rem 0 }
small { opacity: .75 }
`

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)

/** Small pages for people, without script. Their policy allows this style and, if given, a form to this shop. */
export function createHtmlPages(extraStyle: string, form: 'self' | 'none') {
  const style = baseStyle + extraStyle
  const styleHash = new Bun.CryptoHasher('sha256').update(style).digest('base64')
  return {
    policy:
      `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; ` +
      `form-action '${form}'; frame-ancestors 'none'`,

    /** `title` and `heading` are texts, `content` is markup. */
    write: (language: 'en' | 'ru', title: string, heading: string, content: string): string => `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${escapeHtml(heading)}</h1>
${content}
</main>
</body>
</html>
`,
  }
}
