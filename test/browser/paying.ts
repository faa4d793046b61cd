import { expect } from 'bun:test'
import type { Page } from 'playwright-core'
import { decodeQR } from 'qr/decode.js'

/** Draws the QR code of a page on white, and returns the brightness of each pixel as one character. */
const pixelsOfCode = `(async () => {
  const drawn = document.querySelector('img.qr')
  await drawn.decode()
  const canvas = document.createElement('canvas')
  canvas.width = canvas.height = 300
  const context = canvas.getContext('2d')
  context.fillStyle = 'white'
  context.fillRect(0, 0, 300, 300)
  context.drawImage(drawn, 20, 20, 260, 260)
  const { data } = context.getImageData(0, 0, 300, 300)
  return Array.from({ length: 300 * 300 }, (_, pixel) => String.fromCharCode(data[pixel * 4])).join('')
})()`

/** Decodes the QR code of a payment from the pixels that the browser drew. */
export async function readCode(page: Page): Promise<string> {
  await page.getByRole('img', { name: 'QR code of the payment' }).waitFor()
  const brightness = Buffer.from(await page.evaluate<string>(pixelsOfCode), 'latin1')
  const data = Uint8Array.from([...brightness].flatMap((each) => [each, each, each, 255]))
  return decodeQR({ width: 300, height: 300, data })
}

const secondsOf = (text: string): number => {
  const [minutes = Number.NaN, seconds = Number.NaN] = text.split(':').map(Number)
  return minutes * 60 + seconds
}

/**
 * Checks that the page counts down to the end of a payment of one hour: it never shows more than the hour, never less
 * than what was left after the text was read, and the next text shows less. A slow page shows a late, larger value.
 */
export async function expectCountdown(page: Page, expiresAt: string): Promise<void> {
  const left = page.getByText(/Time left: \d+:\d\d/).locator('span')
  const before = await left.innerText()
  const atLeast = Math.floor((Date.parse(expiresAt) - Date.now()) / 1000) - 1
  expect(secondsOf(before)).toBeLessThanOrEqual(3600)
  expect(secondsOf(before)).toBeGreaterThanOrEqual(atLeast)
  await left.filter({ hasText: before }).waitFor({ state: 'detached' })
  expect(secondsOf(await left.innerText())).toBeLessThan(secondsOf(before))
}

/** The row of a payment in an operator's list: its time is a link to the payment. */
export const paymentRow = (page: Page, id: string) => page.locator('tr', { has: page.locator(`a[href$="${id}"]`) })
