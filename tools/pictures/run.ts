/**
 * `npm run pictures -- FOLDER [--window] [name…]`: takes screenshots of the public page and of the console's pages for
 * a review, in both languages and themes, at the widths of a phone and of a desktop. `--window` takes the window in
 * place of the page.
 * `npm run pictures -- docs/images --docs` takes those of README and docs, and the moving one of a first purchase.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openChromium } from '../../test/browser/chromium.ts'
import { startShopWithHistory } from '../../test/harness/console-shop.ts'
import { takePurchase } from './purchase.ts'
import { takePictures } from './take.ts'

/** The pictures in README and docs, by the names that the command gives them. */
const ofDocs: Readonly<Record<string, string>> = {
  'front-en-light-desktop': 'front',
  'front-ru-light-desktop': 'front-ru',
  'overview-en-light-desktop': 'overview',
  'overview-ru-light-desktop': 'overview-ru',
  'vpn-en-light-phone': 'vpn-phone',
  'operator-overview-en-light-desktop': 'operator-overview',
}

const [folder, ...rest] = process.argv.slice(2)
const isDocs = rest.includes('--docs')
const isWindow = isDocs || rest.includes('--window')
const names = isDocs ? Object.keys(ofDocs) : rest.filter((each) => each !== '--window')
if (folder === undefined) {
  process.stderr.write('pictures: say into which folder\n')
  process.exit(2)
}
mkdirSync(folder, { recursive: true })
const [shop, browser] = await Promise.all([startShopWithHistory('sqlite', { TURNPIKE_FRONT: 'on' }), openChromium()])
await takePictures({
  shop,
  browser,
  names,
  isWindow,
  async write(name, png) {
    const file = isDocs ? ofDocs[name] : name
    if (file !== undefined) await Bun.write(join(folder, `${file}.png`), png)
  },
})
if (isDocs) await takePurchase(browser, (webp) => Bun.write(join(folder, 'first-purchase.webp'), webp))
await browser.close()
await shop.stop()
process.exit(0)
