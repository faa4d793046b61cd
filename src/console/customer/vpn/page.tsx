import { Button, NativeSelect, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useFormat } from '../../shared/format.ts'
import { useWords } from '../../shared/language.tsx'
import { Empty, Page, Panel, Reading } from '../../shared/parts.tsx'
import { RefusalNotice } from '../../shared/refusal-notice.tsx'
import { usePurchase, useRead } from '../api.ts'
import { BuyNow } from '../money/buy-now.tsx'
import { Subscription } from './subscription.tsx'
import { TermChoice, usePrices } from './terms.tsx'
import { vpnWords } from './words.ts'

export function VpnPage() {
  const words = useWords(vpnWords)
  const found = useRead('getVpn', {}, { everyMs: 10_000 })
  return (
    <Page title={words.title} about={words.about}>
      <Reading of={found} height={300}>
        {({ items }) =>
          items.length === 0 ? (
            <Panel>
              <Empty icon="shield" title={words.none} about={words.noneAbout} />
            </Panel>
          ) : (
            items.map((each) => <Subscription key={each.uuid} of={each} />)
          )
        }
      </Reading>
      <Buying />
    </Page>
  )
}

function Buying() {
  const words = useWords(vpnWords)
  const format = useFormat()
  const prices = usePrices()
  const locations = useRead('listVpnLocations').data?.locations ?? []
  const purchase = usePurchase('buyVpn')
  const [period, setPeriod] = useState(1)
  const [name, setName] = useState('')
  const [location, setLocation] = useState('')
  const price = prices.data?.find((each) => each.period === period)?.price_rub
  const wish = {
    period,
    ...(name.trim() !== '' && { name: name.trim() }),
    ...(location !== '' && { location }),
  }
  const buy = () => purchase.buy(wish, () => setName(''))
  return (
    <Panel title={words.buy} className="stack">
      <Reading of={prices}>{(all) => <TermChoice prices={all} value={period} onChange={setPeriod} />}</Reading>
      {!prices.isCarried && <Text role="status">{words.noNode}</Text>}
      <div className="line fields">
        <TextInput
          label={words.deviceName}
          placeholder={words.deviceHint}
          value={name}
          maxLength={64}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        {locations.length > 1 && (
          <NativeSelect
            label={words.location}
            value={location}
            data={[
              { value: '', label: words.nearest },
              ...locations.map((each) => ({ value: each.location, label: each.city ?? each.location })),
            ]}
            onChange={(event) => setLocation(event.currentTarget.value)}
          />
        )}
        <Button disabled={price === undefined} loading={purchase.isPending} onClick={buy}>
          {words.buyFor(format.money(price ?? 0))}
        </Button>
      </div>
      <RefusalNotice error={purchase.error} onAgain={buy} />
      <BuyNow price={price} wish={{ product: 'vpn', ...wish }} />
    </Panel>
  )
}
