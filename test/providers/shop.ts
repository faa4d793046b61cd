import type { Services } from '../../src/app/shop/services.ts'
import { openCryptoPay } from './crypto-pay.ts'
import type { OtherSide } from './other-side.ts'
import { openPlatega } from './platega.ts'
import { openYookassa } from './yookassa.ts'

/** Connects a shop and a fake provider: the only file that knows both. */
export type Introduced = {
  readonly provider: string
  readonly method: string
  readonly side: OtherSide
  readonly secret: string
}

const none = { min: new Map<string, string>(), max: new Map<string, string>(), fee: new Map<string, string>() }
const secret = 'test_secret-of-the-shop'

export async function introduce(
  services: Pick<Services, 'providers'>,
  provider: 'yookassa' | 'crypto_pay' | 'platega',
  terms: {
    readonly fee?: ReadonlyMap<string, string>
    readonly settings?: Record<string, string>
    readonly now?: () => number
  } = {},
): Promise<Introduced> {
  const { side, settings, method } = await open(provider, terms.now)
  await services.providers.set(provider, {
    ...none,
    methods: undefined,
    fee: terms.fee ?? none.fee,
    secret,
    settings: new Map(Object.entries({ ...settings, url: side.url, ...terms.settings })),
  })
  return { provider, method, side, secret }
}

async function open(provider: 'yookassa' | 'crypto_pay' | 'platega', now: (() => number) | undefined) {
  if (provider === 'yookassa') {
    const side: OtherSide = await openYookassa({ id: '100500', secret }, {}, now)
    const settings: Record<string, string> = { shop_id: '100500', sources: '127.0.0.1/32;::1/128' }
    return { side, method: 'card', settings }
  }
  if (provider === 'crypto_pay') {
    return {
      side: (await openCryptoPay(secret, now)) as OtherSide,
      method: 'crypto',
      settings: {} as Record<string, string>,
    }
  }
  const settings: Record<string, string> = { merchant_id: 'a1b2c3' }
  return { side: (await openPlatega({ id: 'a1b2c3', secret })) as OtherSide, method: 'platega_sbp', settings }
}
