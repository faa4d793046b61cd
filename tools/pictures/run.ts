/**
 * `npm run pictures -- FOLDER [--window] [name…]`: takes screenshots of the console's pages for a review, in both
 * languages and themes, at the widths of a phone and of a desktop. `--window` takes the window in place of the page.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openChromium } from '../../test/browser/chromium.ts'
import { startShopWithHistory } from '../../test/harness/console-shop.ts'
import { takePictures } from './take.ts'

const [folder, ...rest] = process.argv.slice(2)
const isWindow = rest.includes('--window')
const names = rest.filter((each) => each !== '--window')
if (folder === undefined) {
  process.stderr.write('pictures: say into which folder\n')
  process.exit(2)
}
mkdirSync(folder, { recursive: true })
const [shop, browser] = await Promise.all([startShopWithHistory('sqlite'), openChromium()])
await takePictures({
  shop,
  browser,
  names,
  isWindow,
  write: (name, png) => Bun.write(join(folder, `${name}.png`), png),
})
await browser.close()
await shop.stop()
process.exit(0)
