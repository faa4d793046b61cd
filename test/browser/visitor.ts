import { expect } from 'bun:test'
import type axe from 'axe-core'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { patienceMs } from '../harness/until.ts'

/** Somebody in a browser of his own, and all that his pages have asked for and complained of. */
export type Visitor = {
  readonly page: Page
  readonly context: BrowserContext
  readonly requests: readonly string[]
  /** What the browser notes of answers that a test has asked for, such as a refusal, is no complaint. */
  allow(pattern: RegExp): void
  /** Nothing was complained of, nobody else was asked for anything, and the policy had nothing to forbid. */
  expectQuiet(): Promise<void>
}

export async function openVisitor(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Visitor> {
  const context = await browser.newContext({
    locale: 'en-US',
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
    ...options,
  })
  const page = await context.newPage()
  page.setDefaultTimeout(patienceMs)
  const requests: string[] = []
  const complaints: string[] = []
  const allowed: RegExp[] = []
  page.on('request', (request) => requests.push(request.url()))
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(String(error)))
  const isOurs = (each: string) => each.startsWith(`${url}/`) || each.startsWith('data:') || each.startsWith('blob:')
  return {
    page,
    context,
    requests,
    allow: (pattern) => void allowed.push(pattern),
    async expectQuiet() {
      expect(complaints.filter((each) => !allowed.some((pattern) => pattern.test(each)))).toEqual([])
      expect(requests.filter((each) => !isOurs(each))).toEqual([])
    },
  }
}

/** The checker of accessibility, as small as it is to be had: every page that is looked at has to read it. */
const checker = Bun.file(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir))

/** Rules that are never serious are not asked: what they find would be left out here. */
const findSerious = `(async () => {
  const isLesser = ({ impact }) => impact === 'minor' || impact === 'moderate'
  const rules = Object.fromEntries(axe._audit.rules.filter(isLesser).map(({ id }) => [id, { enabled: false }]))
  const { violations } = await axe.run(document, { resultTypes: ['violations'], rules })
  return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
})()`

/** What a checker of accessibility finds that is serious or worse, in words. */
export async function findBarriers(page: Page): Promise<string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(await checker.text())
  const found = (await page.evaluate(findSerious)) as axe.AxeResults['violations']
  return found.map(
    (each) => `${each.id}: ${each.nodes.map((node) => `${node.target.join(' ')} ${node.failureSummary}`).join(' | ')}`,
  )
}

/** Whether a page is no wider than its window. A phone's window grows with the page, so it is not asked. */
export const fitsWidth = async (page: Page): Promise<boolean> =>
  Number(await page.evaluate('document.documentElement.scrollWidth')) <= (page.viewportSize()?.width ?? 0)
