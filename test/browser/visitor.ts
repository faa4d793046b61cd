import { expect } from 'bun:test'
import type axe from 'axe-core'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  errors,
  type Locator,
  type Page,
} from 'playwright-core'
import { waitLimitMs } from '../harness/until.ts'

/** A browser profile with one page, and a record of the page's requests, console errors and exceptions. */
export type Visitor = {
  readonly page: Page
  readonly context: BrowserContext
  readonly requests: readonly string[]
  /** Ignores console messages of this pattern: the browser logs every refused request that a test provokes. */
  allow(pattern: RegExp): void
  /** Fails on console errors, exceptions, requests to other hosts and Content-Security-Policy violations. */
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
  context.setDefaultTimeout(waitLimitMs)
  const page = await context.newPage()
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

const firstWaitMs = 400

/**
 * Waits until an element is visible. Playwright polls every 50 ms when its timeout is 400 ms, but every 500 ms when its
 * timeout is waitLimitMs, and a page load takes about 400 ms. Timeouts double up to waitLimitMs, so that a slow machine
 * only polls less often.
 */
export async function shown(locator: Locator): Promise<void> {
  for (let waitMs = firstWaitMs; waitMs < waitLimitMs; waitMs *= 2) {
    try {
      return await locator.waitFor({ timeout: waitMs })
    } catch (error) {
      if (!(error instanceof errors.TimeoutError)) throw error
    }
  }
  await locator.waitFor({ timeout: waitLimitMs })
}

/** The accessibility checker, minified, because every checked page must parse it. */
const checker = Bun.file(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir))

/** Runs axe without the rules that are never serious, and without those that the caller leaves out. */
const findSerious = (within: string, without: readonly string[]) => `(async () => {
  const isLeftOut = ({ id, impact }) =>
    impact === 'minor' || impact === 'moderate' || ${JSON.stringify(without)}.includes(id)
  const rules = Object.fromEntries(axe._audit.rules.filter(isLeftOut).map(({ id }) => [id, { enabled: false }]))
  const { violations } = await axe.run(${within}, { resultTypes: ['violations'], rules })
  return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
})()`

/** `selector` limits axe to some elements; `contrast: false` leaves out colours, which take three quarters of a run. */
type Scope = { readonly selector?: string; readonly contrast?: boolean }

/** Serious and critical accessibility violations that axe finds in a page. */
export async function findBarriers(page: Page, { selector, contrast = true }: Scope = {}): Promise<string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(await checker.text())
  const script = findSerious(
    selector === undefined ? 'document' : JSON.stringify(selector),
    contrast ? [] : ['color-contrast'],
  )
  const found = await page.evaluate<axe.AxeResults['violations']>(script)
  return found.map(
    (each) => `${each.id}: ${each.nodes.map((node) => `${node.target.join(' ')} ${node.failureSummary}`).join(' | ')}`,
  )
}

/** Violations of every level that axe finds in the landmarks of a page. */
export const findLandmarkFaults = (page: Page): Promise<string[]> => findAllBarriers(page, { only: landmarks })

const landmarks = ['landmark-no-duplicate-banner', 'landmark-no-duplicate-main', 'landmark-one-main', 'region']

/** All violations that axe finds in a page, with target sizes of WCAG 2.5.8 and its spacing exception. */
export async function findAllBarriers(
  page: Page,
  { only }: { readonly only?: readonly string[] } = {},
): Promise<string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(await checker.text())
  const found = await page.evaluate<axe.AxeResults['violations']>(`axe.run(document, {
    resultTypes: ['violations'],
    ${only ? `runOnly: ${JSON.stringify(only)}` : "rules: { 'target-size': { enabled: true } }"},
  }).then(({ violations }) => violations)`)
  return found.map(
    (each) => `${each.id}: ${each.nodes.map((node) => `${node.target.join(' ')} ${node.failureSummary}`).join(' | ')}`,
  )
}

/**
 * Texts that end outside the window or in a box that hides what does not fit, without a part around them that scrolls.
 * A box with an ellipsis must have its whole text in `title`.
 */
export const findCutOff = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`(() => {
    const scrolls = (element) => {
      for (let each = element; each && each !== document.documentElement; each = each.parentElement) {
        if (['auto', 'scroll'].includes(getComputedStyle(each).overflowX)) return true
      }
      return false
    }
    const isShown = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true })
    const cut = []
    for (const element of document.body.querySelectorAll('*')) {
      const hasText = [...element.childNodes].some((each) => each.nodeType === 3 && each.textContent.trim() !== '')
      if (!hasText || !isShown(element) || scrolls(element)) continue
      const { left, right, width } = element.getBoundingClientRect()
      if (width <= 1 || element.matches('.skip:not(:focus)')) continue
      const style = getComputedStyle(element)
      const hides = style.overflowX === 'hidden' || style.overflowX === 'clip'
      const isClipped = hides && element.scrollWidth > element.clientWidth + 1 && element.title === ''
      if (right > document.documentElement.clientWidth + 1 || left < -1 || isClipped) {
        cut.push(element.tagName + '.' + element.className + ': ' + element.textContent.slice(0, 60))
      }
    }
    return cut
  })()`)

/** On a Russian page: labels for screen readers without a Russian letter, if they are longer than a name. */
export async function findUntranslated(page: Page, locale: string): Promise<string[]> {
  if (!locale.startsWith('ru')) return []
  const labels = await page.evaluate<string[]>(
    `[...document.querySelectorAll('[aria-label], [placeholder]')].flatMap((each) =>
      ['aria-label', 'placeholder'].flatMap((name) => each.getAttribute(name) ?? []))`,
  )
  return labels.filter((each) => /[a-z]{3,} [a-z]{2,}/i.test(each) && !/[а-яё]/i.test(each))
}

/** Names that several buttons for files share, whatever their case: a screen reader cannot tell them apart. */
export async function findSameFiles(page: Page): Promise<string[]> {
  const names = await page.evaluate<string[]>(
    `[...document.querySelectorAll('button')].filter((each) => each.checkVisibility())
      .map((each) => (each.getAttribute('aria-label') ?? each.textContent).trim().toLowerCase())
      .filter((each) => /csv|json/.test(each))`,
  )
  return names.filter((each, index) => names.indexOf(each) < index)
}

/** Presses Tab through the page and returns the controls that it did not reach or that show no focus. */
export async function findUnreached(page: Page): Promise<string[]> {
  const count = await page.evaluate<number>(`(() => {
    document.activeElement?.blur()
    const all = 'a[href], button, input, select, textarea, summary, [role=button], [role=tab], [role=switch]'
    const isShown = (element) => element.checkVisibility({ checkVisibilityCSS: true }) && !element.closest('[inert]')
    // Arrow keys do what the two buttons of a number field do, which are not in the Tab order.
    const isArrow = (element) => element.matches('.mantine-NumberInput-control')
    const isWanted = (element) => isShown(element) && !element.disabled && !isArrow(element)
    const found = [...document.querySelectorAll(all)].filter(isWanted)
    // A password field is marked by the border of the box around it.
    const borderOf = (element) => getComputedStyle(element).borderColor
    window.borders = (element) => borderOf(element) + borderOf(element.parentElement)
    found.forEach((each) => each.setAttribute('data-unreached', window.borders(each)))
    return found.length
  })()`)
  const unseen: string[] = []
  // The second round reaches what is before the element that had the focus.
  for (let pressed = 0; pressed < 2 * count + 20; pressed += 1) {
    await page.keyboard.press('Tab')
    const lost = await page.evaluate<string | null>(`(() => {
      const element = document.activeElement
      if (!element || element === document.body) return null
      const before = element.getAttribute('data-unreached')
      element.removeAttribute('data-unreached')
      // The browser marks the parts of a date field itself.
      if (before === null || element.type === 'date' || element.type === 'datetime-local') return null
      // One member of a group of radio buttons or tabs is in the Tab order; arrows reach the others.
      if (element.type === 'radio') {
        document.querySelectorAll('input[type=radio]').forEach((each) => {
          if (each.name === element.name) each.removeAttribute('data-unreached')
        })
      }
      const tabs = element.closest('[role=tablist]')?.querySelectorAll('[role=tab]') ?? []
      tabs.forEach((each) => each.removeAttribute('data-unreached'))
      const isOutlined = (each) => {
        const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(each)
        return (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow !== 'none'
      }
      const near = [element, element.parentElement, ...element.parentElement.children]
      const isMarked = near.some(isOutlined) || window.borders(element) !== before
      return isMarked ? null : element.outerHTML.slice(0, 160)
    })()`)
    if (lost !== null) unseen.push(`no visible focus: ${lost}`)
    if ((await page.locator('[data-unreached]').count()) === 0) break
  }
  const left = await page.evaluate<string[]>(
    `[...document.querySelectorAll('[data-unreached]')].map((each) => 'not reached: ' + each.outerHTML.slice(0, 160))`,
  )
  return [...unseen, ...left]
}

/** Whether a page is no wider than its window. A phone's window grows with the page, so the viewport size is used. */
export const fitsWidth = async (page: Page): Promise<boolean> =>
  Number(await page.evaluate('document.documentElement.scrollWidth')) <= (page.viewportSize()?.width ?? 0)
