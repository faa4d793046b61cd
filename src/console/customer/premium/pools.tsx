import { Button, Progress, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Payment } from '../../client/customer.ts'
import { Select } from '../../shared/form.tsx'
import { useMessages } from '../../shared/messages.tsx'
import { NumberField } from '../../shared/number-field.tsx'
import { Facts, Figure, Hint, Outcome, Panel, Reading, RefusalNotice } from '../../shared/parts.tsx'
import { api, type CustomerAnswer, quoteEveryMs, usePurchase, useRead } from '../api.ts'
import { FirstUse } from '../first-use.tsx'
import { HowTo } from '../how-to.tsx'
import { BuyNow, PaidPurchase } from '../money/pay.tsx'
import { Generated } from './generated.tsx'
import { premiumMessages } from './messages.ts'
import { usePools } from './use-pools.ts'

type Pool = Extract<CustomerAnswer<'getTraffic'>, { pools: unknown }>['pools'][number]

export function PoolsTab() {
  const pools = usePools()
  return (
    <Reading of={pools} height={240}>
      {(all) => (
        <>
          <div className="cards">
            {all.map((pool) => (
              <Gauge key={pool.pool_type} pool={pool} />
            ))}
          </div>
          <BuyTraffic pools={all} />
        </>
      )}
    </Reading>
  )
}

function Gauge({ pool }: { readonly pool: Pool }) {
  const { t, format } = useMessages(premiumMessages)
  const { pool_type, traffic_gb, used_gb, purchased_gb } = pool
  const name = t.pools[pool_type] ?? pool_type
  const exits = useExits(pool_type)
  const share = purchased_gb > 0 ? Math.max(0, Math.min(100, (traffic_gb / purchased_gb) * 100)) : 0
  return (
    <Panel className="gauge">
      <Figure label={name} value={format.gigabytes(traffic_gb)} />
      <Progress value={share} aria-label={`${t.left}: ${name}`} size="sm" />
      <span className="figure-note">
        {purchased_gb > 0 ? t.ofBought(format.gigabytes(used_gb), format.gigabytes(purchased_gb)) : t.nothingBought}
      </span>
      {exits !== undefined && <span className="figure-note">{t.exits(exits.count, exits.countries, format)}</span>}
    </Panel>
  )
}

/** How many exits a pool has, and in how many countries. */
function useExits(pool_type: string): { readonly count: number; readonly countries: number } | undefined {
  const found = useQuery({
    queryKey: ['listPremiumCountries', pool_type],
    queryFn: () => api.call('listPremiumCountries', { body: { pool_type } }),
  }).data?.countries
  return found && { count: found.reduce((sum, each) => sum + each.exits, 0), countries: found.length }
}

const maxTiers = 20

type Tier = { readonly from_gb: number; readonly price_per_gb_rub: number }

/** All tiers of a pool: each quote names the next one. */
async function loadTiers(pool_type: string): Promise<readonly Tier[]> {
  const tiers: Tier[] = []
  let gb: number | undefined = 0.1
  while (gb !== undefined && tiers.length < maxTiers) {
    const quote: CustomerAnswer<'quoteTraffic'> = await api.call('quoteTraffic', { query: { pool_type, gb } })
    tiers.push(quote.tier)
    gb = quote.next_tier?.from_gb
  }
  return tiers
}

function BuyTraffic({ pools }: { readonly pools: readonly Pool[] }) {
  const { t } = useMessages(premiumMessages)
  const [pool_type, setPool] = useState(pools[0]?.pool_type ?? '')
  const [gb, setGb] = useState(5)
  const [settled] = useDebouncedValue(gb, 200)
  const isWhole = settled >= 0.1 && settled <= 10_000
  const quote = useRead(
    'quoteTraffic',
    { query: { pool_type, gb: settled } },
    { isWanted: isWhole, everyMs: quoteEveryMs },
  )
  const tiers = useQuery({ queryKey: ['tiers', pool_type], queryFn: () => loadTiers(pool_type) })
  const purchase = usePurchase('buyTraffic')
  const [paid, setPaid] = useState<Payment>()
  const isCurrent = quote.data?.pool_type === pool_type && quote.data.gb === gb && !quote.isPlaceholderData
  if (paid) {
    return (
      <PaidPurchase payment={paid} onAgain={() => setPaid(undefined)}>
        {() => <UseTraffic pool={pool_type} />}
      </PaidPurchase>
    )
  }
  if (purchase.data) return <BoughtTraffic bought={purchase.data} onAgain={purchase.reset} />
  return (
    <Panel title={t.buy}>
      <div className="halves">
        <div className="stack">
          <div className="line fields">
            <Select
              label={t.pool}
              value={pool_type}
              options={pools.map(({ pool_type: each }) => [each, t.pools[each] ?? each] as const)}
              onChange={setPool}
            />
            <NumberField
              label={t.amount}
              value={gb}
              min={0.1}
              max={10_000}
              step={1}
              decimalScale={1}
              w="9rem"
              allowNegative={false}
              onChange={setGb}
            />
          </div>
          <Price quote={quote} isCurrent={isCurrent} purchase={purchase} order={{ pool_type, gb }} onPaid={setPaid} />
        </div>
        <Reading of={tiers}>{(all) => <Tiers all={all} now={quote.data?.tier.from_gb} />}</Reading>
      </div>
    </Panel>
  )
}

type BoughtTrafficProps = { readonly bought: CustomerAnswer<'buyTraffic'>; readonly onAgain: () => void }

function BoughtTraffic({ bought, onAgain }: BoughtTrafficProps) {
  const { t, format } = useMessages(premiumMessages)
  const { traffic_added_gb: added, traffic_balance_gb: left, pool_type, price_rub } = bought
  return (
    <>
      <Panel>
        <Outcome title={t.bought(format.gigabytes(added), format.gigabytes(left))}>
          <Facts
            of={[
              [t.pool, t.pools[pool_type] ?? pool_type],
              [t.price, format.money(price_rub)],
            ]}
          />
          <div className="line">
            <Button component="a" href={`#/premium/generate?pool=${pool_type}`}>
              {t.getLine}
            </Button>
            <Button variant="subtle" onClick={onAgain}>
              {t.another}
            </Button>
          </div>
        </Outcome>
      </Panel>
      <UseTraffic pool={pool_type} />
    </>
  )
}

/** How to use bought traffic in a program, and whether a first connection has come. */
function UseTraffic({ pool }: { readonly pool: string }) {
  const { t } = useMessages(premiumMessages)
  const pools = usePools(undefined, { everyMs: 5_000 }).data
  const isUsed = (pools?.find((each) => each.pool_type === pool)?.used_gb ?? 0) > 0
  return (
    <Panel title={t.use} aside={<FirstUse isUsed={isUsed} />}>
      <HowTo schemes={['http', 'https', 'socks5']}>{(chosen) => <Generated pool={pool} {...chosen} />}</HowTo>
    </Panel>
  )
}

function Tiers({ all, now }: { readonly all: readonly Tier[]; readonly now: number | undefined }) {
  const { t, format } = useMessages(premiumMessages)
  return (
    <table className="rows tiers keep">
      <caption>{t.tiers}</caption>
      <thead>
        <tr>
          <th scope="col">{t.from}</th>
          <th scope="col" className="number">
            {t.perGb}
          </th>
        </tr>
      </thead>
      <tbody>
        {all.map(({ from_gb, price_per_gb_rub }) => (
          <tr key={from_gb} className={from_gb === now ? 'now' : ''}>
            <td>{format.gigabytes(from_gb)}</td>
            <td className="number">{format.money(price_per_gb_rub)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

type PriceProps = {
  readonly quote: ReturnType<typeof useRead<'quoteTraffic'>>
  readonly isCurrent: boolean
  readonly purchase: ReturnType<typeof usePurchase<'buyTraffic'>>
  readonly order: { readonly pool_type: string; readonly gb: number }
  readonly onPaid: (payment: Payment) => void
}

function Price({ quote, isCurrent, purchase, order, onPaid }: PriceProps) {
  const { t, format } = useMessages(premiumMessages)
  const balance = useRead('getBalance').data?.balance_rub
  const price = quote.data?.price_rub ?? 0
  const buy = () => purchase.buy({ ...order, max_price_rub: price })
  const isTooPoor = balance !== undefined && balance < price
  return (
    <>
      <div aria-live="polite" className={isCurrent ? '' : 'settling'}>
        <Reading of={quote} height={90}>
          {(found) => (
            <div className="stack">
              <Facts
                of={[
                  [t.total, <strong>{format.money(found.price_rub)}</strong>],
                  [t.perGb, format.money(found.price_per_gb_rub)],
                  balance !== undefined && !isTooPoor && [t.after, format.exactMoney(balance - found.price_rub)],
                ]}
              />
              {found.next_tier !== null && (
                <Hint>
                  {t.saveMore(
                    format.gigabytes(found.next_tier.missing_gb),
                    format.money(found.next_tier.price_per_gb_rub),
                  )}
                </Hint>
              )}
              {isTooPoor && <Text size="sm">{t.tooPoor}</Text>}
            </div>
          )}
        </Reading>
      </div>
      <div>
        <Button disabled={!isCurrent || isTooPoor} loading={purchase.isPending} onClick={buy}>
          {t.buyFor(format.money(price))}
        </Button>
      </div>
      <RefusalNotice error={purchase.error} onAgain={buy} />
      <BuyNow price={isCurrent ? price : undefined} order={{ product: 'traffic', ...order }} onBought={onPaid} />
    </>
  )
}
