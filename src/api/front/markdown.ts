/** Links that a page may have; others, such as `javascript:`, lose their target. */
const allowedTarget = /^(?:https?:|mailto:|\/(?!\/)|#)/i

/** The operator's Markdown as HTML without HTML of its own, images or unsafe links. Its headings begin at `h2`. */
export function toHtml(markdown: string): string {
  return Bun.markdown
    .html(markdown, { noHtmlBlocks: true, noHtmlSpans: true })
    .replace(/<img [^>]*alt="([^"]*)"[^>]*>/g, '$1')
    .replace(/<img [^>]*>/g, '')
    .replace(/<a href="([^"]*)"/g, (link, target: string) => (allowedTarget.test(target) ? link : '<a'))
    .replace(/<(\/?)h([1-5])>/g, (_, end: string, level: string) => `<${end}h${Number(level) + 1}>`)
    .replace(/<table>/g, '<table tabindex="0">')
}
