import type { Browser, Page } from 'playwright-core'
import { openChromium } from '../test/browser/chromium.ts'
import { customerLink, operatorLink } from '../test/harness/console-links.ts'
import { startShopWithHistory } from '../test/harness/console-shop.ts'
import type { Bench } from './context.ts'
import { type Row, timeRow } from './report.ts'
import { median } from './statistics.ts'

const slowdown = 4
const maxKilobytes = 200
/** Each page with the selector that shows it is readable, and that of its last file. */
const pages = [
  { name: 'the sign-in page', heading: 'h1', last: 'h1' },
  { name: 'a customer’s start page', heading: '#content h1', last: '.uplot' },
  { name: 'an operator’s start page', heading: '#content h1', last: '.uplot' },
] as const

type Load = { readonly kilobytes: number; readonly paintMs: number; readonly readyMs: number }

/** The first visit with an empty cache, on a slow machine. */
export const consoleBench: Bench = {
  name: 'console',
  about: `the web console's first load in Chromium with an empty cache, its processor slowed ${slowdown} times`,
  async run({ stage, rounds, say }) {
    const [shop, browser] = await Promise.all([startShopWithHistory('sqlite'), openChromium()])
    stage.atEnd(async () => {
      await browser.close()
      await shop.stop()
    })
    const loads = new Map<string, Load[]>(pages.map(({ name }) => [name, []]))
    for (let round = 0; round < rounds; round += 1) {
      const links = [
        shop.url,
        await customerLink(shop, shop.token),
        await operatorLink(shop, `round-${round}`, 'owner'),
      ]
      for (const [index, page] of pages.entries()) {
        const load = await measure(browser, links[index] ?? shop.url, page)
        loads.get(page.name)?.push(load)
        say(`  ${page.name}: ${load.kilobytes.toFixed(0)} KB, painted after ${load.paintMs.toFixed(0)} ms`)
      }
    }
    return pages.flatMap(({ name }) => toRows(name, loads.get(name) ?? []))
  },
}

function toRows(name: string, loads: readonly Load[]): Row[] {
  const sizes = loads.map((each) => each.kilobytes)
  return [
    {
      what: `${name}, compressed`,
      figure: `${median(sizes).toFixed(0)} KB`,
      rounds: sizes,
      target: `< ${maxKilobytes} KB`,
      met: median(sizes) < maxKilobytes,
    },
    timeRow(
      `${name}, first paint`,
      loads.map((each) => each.paintMs),
    ),
    timeRow(
      `${name}, its heading is shown`,
      loads.map((each) => each.readyMs),
    ),
  ]
}

/** The transferred size of the page and its files, without its API requests. */
async function measure(
  browser: Browser,
  link: string,
  { heading, last }: { readonly heading: string; readonly last: string },
): Promise<Load> {
  const context = await browser.newContext({ locale: 'en-US' })
  const page = await context.newPage()
  const devtools = await context.newCDPSession(page)
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: slowdown })
  const sizes: Promise<number>[] = []
  page.on('requestfinished', (request) => {
    const path = new URL(request.url()).pathname
    if (path !== '/' && path !== '/operator' && !path.startsWith('/console/')) return
    sizes.push(request.sizes().then((size) => size.responseBodySize + size.responseHeadersSize))
  })
  const startedAt = performance.now()
  await page.goto(link)
  await page.locator(heading).first().waitFor()
  const readyMs = performance.now() - startedAt
  await page.locator(last).first().waitFor()
  await page.waitForLoadState('networkidle')
  const bytes = (await Promise.all(sizes)).reduce((sum, each) => sum + each, 0)
  const paintMs = await firstPaint(page)
  await context.close()
  return { kilobytes: bytes / 1000, paintMs, readyMs }
}

const firstPaint = async (page: Page): Promise<number> =>
  Number(await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"))
