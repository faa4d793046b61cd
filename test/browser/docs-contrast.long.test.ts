import { expect, test } from 'bun:test'
import { startService } from '../harness/service.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { findBarriers } from './visitor.ts'

test(
  'the docs page with every operation has no serious accessibility violation at 375 pixels, light and dark',
  async () => {
    const [browser, shop] = await Promise.all([openChromium(), startService('sqlite')])
    try {
      for (const colorScheme of ['light', 'dark'] as const) {
        const context = await browser.newContext({ colorScheme, viewport: { width: 375, height: 812 } })
        const page = await context.newPage()
        await page.goto(`${shop.url}/docs`)
        await page.locator('css:light=section[aria-labelledby="getBalance"]').waitFor()
        // Sections out of view have an estimated height (`content-visibility: auto`), so their contents overlap in what
        // axe reads. No reader sees that: the browser lays a section out when it comes into view.
        await page.evaluate(
          "document.styleSheets[0].insertRule('.operation { content-visibility: visible !important }')",
        )
        expect([colorScheme, ...(await findBarriers(page))]).toEqual([colorScheme])
        await context.close()
      }
    } finally {
      await browser.close()
      await shop.stop()
    }
  },
  readyWithinMs,
)
