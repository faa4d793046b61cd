import type { Browser, Page } from 'playwright-core'
import { customerLink } from '../../test/harness/console-links.ts'
import { type Service, startService } from '../../test/harness/service.ts'
import { type Frame, toMovingWebp } from './webp.ts'

const size = { width: 960, height: 600 }
const shortMs = 1_200
const longMs = 2_600

/** A screenshot as WebP. A page without the console's policy turns the PNG into it. */
async function toWebp(converter: Page, png: Buffer): Promise<Uint8Array> {
  const base64 = await converter.evaluate<string>(`(async () => {
    const bytes = Uint8Array.from(atob('${png.toString('base64')}'), (each) => each.charCodeAt(0))
    const picture = await createImageBitmap(new Blob([bytes], { type: 'image/png' }))
    const canvas = new OffscreenCanvas(picture.width, picture.height)
    canvas.getContext('2d').drawImage(picture, 0, 0)
    const blob = await canvas.convertToBlob({ type: 'image/webp', quality: 0.72 })
    const found = new Uint8Array(await blob.arrayBuffer())
    return btoa(Array.from(found, (each) => String.fromCharCode(each)).join(''))
  })()`)
  return Buffer.from(base64, 'base64')
}

/** A new customer's first purchase: top up, buy, and the result, as one moving picture. */
export async function takePurchase(browser: Browser, write: (webp: Uint8Array) => Promise<unknown>): Promise<void> {
  const shop: Service = await startService('sqlite')
  const context = await browser.newContext({ viewport: size, locale: 'en-US', reducedMotion: 'reduce' })
  const [page, converter] = [await context.newPage(), await context.newPage()]
  const frames: Frame[] = []
  const take = async (ms: number) => {
    await page.waitForLoadState('networkidle')
    frames.push({ webp: await toWebp(converter, await page.screenshot()), ms })
  }
  const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click()
  const { token } = await shop.newCustomer()
  await page.goto(await customerLink(shop, token))
  await page.getByText('0 of 3 done').waitFor()
  await take(longMs)
  await page.getByRole('link', { name: 'Top up', exact: true }).first().click()
  await page.getByRole('heading', { name: 'Money' }).waitFor()
  await take(shortMs)
  await press('Pay')
  const link = page.getByRole('link', { name: 'Open the payment page' })
  await link.waitFor()
  await take(shortMs)
  const payUrl = (await link.getAttribute('href')) ?? ''
  await fetch(payUrl, { method: 'POST', redirect: 'manual' })
  await page.getByRole('heading', { name: 'Receipt' }).waitFor()
  await take(shortMs)
  await page.goto(`${shop.url}/#/dedicated/buy`)
  await page.getByText('Netherlands').click()
  await page.getByRole('button', { name: /^Buy for ₽\d/ }).waitFor()
  await take(longMs)
  await press(/^Buy for ₽/)
  await page.getByRole('heading', { name: 'Your proxies are ready' }).waitFor()
  await take(longMs)
  await page.goto(`${shop.url}/#/`)
  await page.getByText('2 of 3 done').waitFor()
  await take(longMs)
  await write(toMovingWebp(frames, size.width, size.height))
  await context.close()
  await shop.stop()
}
