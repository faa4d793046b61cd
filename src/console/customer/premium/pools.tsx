import { Button, NativeSelect, NumberInput, Progress, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useFormat } from '../../shared/format.ts'
import { useWords } from '../../shared/language.tsx'
import { Facts, Panel, Reading } from '../../shared/parts.tsx'
import { RefusalNotice } from '../../shared/refusal-notice.tsx'
import { type Answer, api, usePurchase, useRead } from '../api.ts'
import { BuyNow } from '../money/buy-now.tsx'
import { premiumWords } from './words.ts'

type Pool = Extract<Answer<'getTraffic'>, { pools: unknown }>['pools'][number]

/** Every pool with what is left in it. */
export function usePools() {
  const { data, error, refetch } = useRead('getTraffic')
  return { data: data && 'pools' in data ? data.pools : undefined, error, refetch }
}

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
  const words = useWords(premiumWords)
  const format = useFormat()
  const { pool_type, traffic_gb, used_gb, purchased_gb } = pool
  const name = words.pools[pool_type] ?? pool_type
  const share = purchased_gb > 0 ? Math.max(0, Math.min(100, (traffic_gb / purchased_gb) * 100)) : 0
  return (
    <Panel className="gauge">
      <div className="figure">
        <span className="figure-label">{name}</span>
        <span className="figure-value">{format.gigabytes(traffic_gb)}</span>
      </div>
      <Progress value={share} aria-label={`${words.left}: ${name}`} size="sm" />
      <span className="figure-note">
        {purchased_gb > 0
          ? words.ofBought(format.gigabytes(used_gb), format.gigabytes(purchased_gb))
          : words.nothingBought}
      </span>
    </Panel>
  )
}

const settledMs = 200
const mostTiers = 20

/** All tiers of a pool: each quote names the next one. */
async function loadTiers(pool_type: string): Promise<readonly { from_gb: number; price_per_gb_rub: number }[]> {
  const tiers: { from_gb: number; price_per_gb_rub: number }[] = []
  let gb: number | undefined = 0.1
  while (gb !== undefined && tiers.length < mostTiers) {
    const quote: Answer<'quoteTraffic'> = await api.call('quoteTraffic', { query: { pool_type, gb } })
    tiers.push(quote.tier)
    gb = quote.next_tier?.from_gb
  }
  return tiers
}

function BuyTraffic({ pools }: { readonly pools: readonly Pool[] }) {
  const words = useWords(premiumWords)
  const format = useFormat()
  const [pool_type, setPool] = useState(pools[0]?.pool_type ?? '')
  const [gb, setGb] = useState<number>(5)
  const [settled] = useDebouncedValue(gb, settledMs)
  const isWhole = settled >= 0.1 && settled <= 10_000
  const quote = useRead('quoteTraffic', { query: { pool_type, gb: settled } }, { isWanted: isWhole })
  const tiers = useQuery({ queryKey: ['tiers', pool_type], queryFn: () => loadTiers(pool_type) })
  const purchase = usePurchase('buyTraffic')
  const isCurrent = quote.data?.pool_type === pool_type && quote.data.gb === gb && !quote.isPlaceholderData
  return (
    <Panel title={words.buy}>
      <div className="halves">
        <div className="stack">
          <div className="line fields">
            <NativeSelect
              label={words.pool}
              value={pool_type}
              data={pools.map(({ pool_type: value }) => ({ value, label: words.pools[value] ?? value }))}
              onChange={(event) => setPool(event.currentTarget.value)}
            />
            <NumberInput
              label={words.amount}
              value={Number.isNaN(gb) ? '' : gb}
              min={0.1}
              max={10_000}
              step={1}
              decimalScale={1}
              w="9rem"
              allowNegative={false}
              onChange={(value) => setGb(value === '' ? Number.NaN : Number(value))}
            />
          </div>
          <Price quote={quote} isCurrent={isCurrent} purchase={purchase} wish={{ pool_type, gb }} />
          {purchase.data && !purchase.isPending && (
            <div role="status" className="notice good">
              {words.bought(
                format.gigabytes(purchase.data.traffic_added_gb),
                format.gigabytes(purchase.data.traffic_balance_gb),
              )}
            </div>
          )}
        </div>
        <Reading of={tiers}>{(all) => <Tiers all={all} now={quote.data?.tier.from_gb} />}</Reading>
      </div>
    </Panel>
  )
}

function Tiers({
  all,
  now,
}: {
  readonly all: readonly { from_gb: number; price_per_gb_rub: number }[]
  readonly now: number | undefined
}) {
  const words = useWords(premiumWords)
  const format = useFormat()
  return (
    <table className="rows tiers keep">
      <caption>{words.tiers}</caption>
      <thead>
        <tr>
          <th scope="col">{words.from}</th>
          <th scope="col" className="number">
            {words.perGb}
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

function Price({
  quote,
  isCurrent,
  purchase,
  wish,
}: {
  readonly quote: ReturnType<typeof useRead<'quoteTraffic'>>
  readonly isCurrent: boolean
  readonly purchase: ReturnType<typeof usePurchase<'buyTraffic'>>
  readonly wish: { readonly pool_type: string; readonly gb: number }
}) {
  const words = useWords(premiumWords)
  const format = useFormat()
  const balance = useRead('getBalance').data?.balance_rub
  const price = quote.data?.price_rub ?? 0
  const isTooPoor = balance !== undefined && balance < price
  return (
    <>
      <div aria-live="polite" className={isCurrent ? '' : 'settling'}>
        <Reading of={quote} height={90}>
          {(found) => (
            <div className="stack">
              <Facts
                of={[
                  [words.total, <strong key="price">{format.money(found.price_rub)}</strong>],
                  [words.perGb, format.money(found.price_per_gb_rub)],
                  ...(balance === undefined || isTooPoor
                    ? []
                    : [[words.after, format.exactMoney(balance - found.price_rub)] as const]),
                ]}
              />
              {found.next_tier !== null && (
                <Text size="sm" c="dimmed">
                  {words.saveMore(
                    format.gigabytes(found.next_tier.missing_gb),
                    format.money(found.next_tier.price_per_gb_rub),
                  )}
                </Text>
              )}
              {isTooPoor && <Text size="sm">{words.tooPoor}</Text>}
            </div>
          )}
        </Reading>
      </div>
      <div>
        <Button disabled={!isCurrent || isTooPoor} loading={purchase.isPending} onClick={() => purchase.buy(wish)}>
          {words.buyFor(format.money(price))}
        </Button>
      </div>
      <RefusalNotice error={purchase.error} onAgain={() => purchase.buy(wish)} />
      <BuyNow price={isCurrent ? price : undefined} wish={{ product: 'traffic', ...wish }} />
    </>
  )
}
