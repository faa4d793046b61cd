import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { type Service, startService } from '../harness/service.ts'
import { waitLimitMs } from '../harness/until.ts'
import { vpnGatewayIsSeen } from '../harness/vpn.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { findBarriers } from './visitor.ts'

describe('secret page of a VPN subscription', () => {
  let service: Service
  let browser: Browser
  beforeAll(async () => {
    service = await startService('sqlite', { TURNPIKE_GATEWAY_VPN: 'on' })
    await vpnGatewayIsSeen(service)
    browser = await openChromium()
  }, readyWithinMs)
  afterAll(async () => {
    await browser.close()
    await service.stop()
  })

  test('the secret page of a VPN subscription shows the QR code and devices without errors or foreign requests', async () => {
    const { data } = await service.post('/vpn/buy', { period: 1, name: 'Anna' })
    // Devices are listed by creation time, which two of the same moment share.
    service.clock.advance(1_000)
    await service.post('/vpn/devices', { name: 'Боря' })
    const page = await browser.newPage({ viewport: { width: 390, height: 844 } })
    page.setDefaultTimeout(waitLimitMs)
    const requests: string[] = []
    const complaints: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    page.on('console', (message) => complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(String(error)))
    await page.goto(data.subscription_url)
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Anna')
    expect(await page.getByRole('img').count()).toBe(0)
    expect(await findBarriers(page)).toEqual([])
    expect(await page.getByRole('link', { name: 'Happ' }).getAttribute('href')).toBe(
      `happ://add/${data.subscription_url}`,
    )
    await page.getByRole('link', { name: 'Show the WireGuard code' }).click()
    const qr = await page.getByRole('img', { name: 'QR code of the configuration' }).boundingBox()
    expect(qr?.width).toBeGreaterThan(250)
    expect(Math.abs((qr?.width ?? 0) - (qr?.height ?? 0))).toBeLessThan(40)
    // The style is applied, so its hash in the policy is right.
    expect(await page.evaluate('getComputedStyle(document.querySelector("ul")).listStyleType')).toBe('none')
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    await page.getByRole('link', { name: 'Боря' }).click()
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Боря')
    expect(complaints.filter((text) => !text.includes('favicon'))).toEqual([])
    expect(requests.every((url) => url.startsWith(service.url))).toBe(true)
    await page.setExtraHTTPHeaders({ 'Accept-Language': 'ru' })
    await page.reload()
    expect(await page.getAttribute('html', 'lang')).toBe('ru')
    expect(await page.getByRole('link', { name: 'Показать код WireGuard' }).count()).toBe(1)
    expect(await page.innerText('body')).toMatch(/Действует до \d+ \S+ \d{4} г\. в \d\d:\d\d UTC\./)
    await page.close()
  })
})
