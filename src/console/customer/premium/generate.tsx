import { Button, NativeSelect, NumberInput, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import { Choices } from '../../shared/choices.tsx'
import { Copy } from '../../shared/copy.tsx'
import { download } from '../../shared/download.ts'
import { useFormat } from '../../shared/format.ts'
import { useWords } from '../../shared/language.tsx'
import { Panel, Reading } from '../../shared/parts.tsx'
import { useRead } from '../api.ts'
import { usePools } from './pools.tsx'
import { useSubuserChoice } from './subusers.tsx'
import { premiumWords } from './words.ts'

const settledMs = 250

type Wish = {
  readonly pool_type: string
  readonly country: string
  readonly city: string
  readonly type: 'sticky' | 'rotating'
  readonly session_ttl: number
  readonly quantity: number
  readonly protocol: 'http' | 'socks5'
  readonly format_id: 1 | 2 | 3 | 4
}

const first: Wish = {
  pool_type: 'residential',
  country: '',
  city: '',
  type: 'sticky',
  session_ttl: 10,
  quantity: 10,
  protocol: 'http',
  format_id: 1,
}

const toBody = ({ country, city, session_ttl, ...rest }: Wish) => ({
  ...rest,
  ...(country !== '' && { countries: [country] }),
  ...(city !== '' && { cities: [city] }),
  ...(rest.type === 'sticky' && { session_ttl }),
})

/** A list of proxies, made anew whenever something about it changes. */
export function GenerateTab() {
  const words = useWords(premiumWords)
  const [subuser_id, choice] = useSubuserChoice()
  const pools = usePools(subuser_id).data
  const [wish, setWish] = useState(first)
  const set = (change: Partial<Wish>) => setWish({ ...wish, ...change })
  const [settled] = useDebouncedValue(wish, settledMs)
  const isWhole = settled.quantity >= 1 && settled.quantity <= 1000 && settled.session_ttl >= 1
  const made = useRead('generateProxies', { body: { ...toBody(settled), subuser_id } }, { isWanted: isWhole })
  const pool = pools?.find((each) => each.pool_type === wish.pool_type)
  return (
    <div className="halves">
      <Panel title={words.generate} className="stack">
        <Text c="dimmed">{words.generateAbout}</Text>
        {choice && <div className="line fields">{choice}</div>}
        <Place wish={wish} pools={pools?.map((each) => each.pool_type) ?? [wish.pool_type]} set={set} />
        <Choices
          legend={words.kind}
          value={wish.type}
          options={[
            { value: 'sticky', label: words.sticky, note: words.stickyAbout },
            { value: 'rotating', label: words.rotating, note: words.rotatingAbout },
          ]}
          onChange={(type) => set({ type })}
        />
        <Form wish={wish} set={set} />
      </Panel>
      <Panel title={words.preview} className="stack">
        {pool !== undefined && pool.traffic_gb <= 0 && <div className="notice warn">{words.noTraffic}</div>}
        <Reading of={made} height={220}>
          {({ proxies }) => (
            <>
              <div className="listing">
                <pre tabIndex={0} role="region" aria-label={words.preview}>
                  {proxies.join('\n')}
                </pre>
              </div>
              <div className="line">
                <Button onClick={() => download('proxies.txt', `${proxies.join('\n')}\n`)}>{words.download}</Button>
                <Copy text={proxies.join('\n')} />
              </div>
            </>
          )}
        </Reading>
      </Panel>
    </div>
  )
}

type PartProps = { readonly wish: Wish; readonly set: (change: Partial<Wish>) => void }

/** Where proxies leave from, as far as the pool has exits there. */
function Place({ wish, pools, set }: PartProps & { readonly pools: readonly string[] }) {
  const words = useWords(premiumWords)
  const format = useFormat()
  const { pool_type, country } = wish
  const countries = useRead('listPremiumCountries', { body: { pool_type } }).data?.countries ?? []
  const cities = useRead(
    'listPremiumCities',
    { body: { pool_type, country_code: country } },
    { isWanted: country !== '' },
  ).data?.cities
  const offered = country === '' ? [] : (cities ?? []).filter((each) => each.country_code === country)
  return (
    <div className="line fields">
      <NativeSelect
        label={words.pool}
        value={pool_type}
        data={pools.map((value) => ({ value, label: words.pools[value] ?? value }))}
        onChange={(event) => set({ pool_type: event.currentTarget.value, country: '', city: '' })}
      />
      <NativeSelect
        label={words.country}
        value={country}
        data={[
          { value: '', label: words.anyCountry },
          ...countries.map(({ country_code: value }) => ({ value, label: format.country(value) })),
        ]}
        onChange={(event) => set({ country: event.currentTarget.value, city: '' })}
      />
      <NativeSelect
        label={words.city}
        value={wish.city}
        disabled={offered.length === 0}
        data={[
          { value: '', label: words.anyCity },
          ...offered.map(({ city: value, name }) => ({ value, label: name })),
        ]}
        onChange={(event) => set({ city: event.currentTarget.value })}
      />
    </div>
  )
}

function Form({ wish, set }: PartProps) {
  const words = useWords(premiumWords)
  const whole = (value: number | string): number => (value === '' ? Number.NaN : Number(value))
  return (
    <div className="line fields">
      {wish.type === 'sticky' && (
        <NumberInput
          label={words.minutes}
          value={Number.isNaN(wish.session_ttl) ? '' : wish.session_ttl}
          min={1}
          max={120}
          w="9rem"
          allowDecimal={false}
          onChange={(value) => set({ session_ttl: whole(value) })}
        />
      )}
      <NumberInput
        label={words.quantity}
        value={Number.isNaN(wish.quantity) ? '' : wish.quantity}
        min={1}
        max={1000}
        w="9rem"
        allowDecimal={false}
        onChange={(value) => set({ quantity: whole(value) })}
      />
      <NativeSelect
        label={words.protocol}
        value={wish.protocol}
        data={[
          { value: 'http', label: 'HTTP' },
          { value: 'socks5', label: 'SOCKS5' },
        ]}
        onChange={(event) => set({ protocol: event.currentTarget.value as Wish['protocol'] })}
      />
      <NativeSelect
        label={words.format}
        value={String(wish.format_id)}
        data={Object.entries(words.formats).map(([value, label]) => ({ value, label }))}
        onChange={(event) => set({ format_id: Number(event.currentTarget.value) as Wish['format_id'] })}
      />
    </div>
  )
}
