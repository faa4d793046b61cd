import { Button, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import { download, useFields } from '../../shared/browser.ts'
import { Copy, Lines } from '../../shared/copy.tsx'
import { Choices, Select } from '../../shared/form.tsx'
import { useMessages } from '../../shared/messages.tsx'
import { NumberField } from '../../shared/number-field.tsx'
import { Hint, Panel, Reading } from '../../shared/parts.tsx'
import { useRead } from '../api.ts'
import { premiumMessages } from './messages.ts'
import { useSubuserChoice } from './subusers.tsx'
import { usePools } from './use-pools.ts'

type ProxyListOrder = {
  readonly pool_type: string
  readonly country: string
  readonly city: string
  readonly type: 'sticky' | 'rotating'
  readonly session_ttl: number
  readonly quantity: number
  readonly protocol: 'http' | 'https' | 'socks5'
  readonly format_id: 1 | 2 | 3 | 4 | 'curl'
}

const first: ProxyListOrder = {
  pool_type: 'residential',
  country: '',
  city: '',
  type: 'sticky',
  session_ttl: 10,
  quantity: 10,
  protocol: 'http',
  format_id: 1,
}

const toBody = ({ country, city, session_ttl, format_id, ...rest }: ProxyListOrder) => ({
  ...rest,
  format_id: format_id === 'curl' ? 4 : format_id,
  ...(country !== '' && { countries: [country] }),
  ...(city !== '' && { cities: [city] }),
  ...(rest.type === 'sticky' && { session_ttl }),
})

/** A command for the terminal. With `socks5h` the proxy resolves names. A line of the last format stays as it is. */
const toCurl = (line: string): string =>
  line.includes('://') ? `curl -x "${line.replace(/^socks5:/, 'socks5h:')}" https://example.com` : line

/** The first list: one command for the pool that the address bar names, or ten lines. */
function useFirstList(): ProxyListOrder {
  const pool_type = useFields()[0].get('pool')
  return pool_type === null ? first : { ...first, pool_type, quantity: 1, format_id: 'curl' }
}

/** A list of proxies, generated again after each change. */
export function GenerateTab() {
  const { t } = useMessages(premiumMessages)
  const [subuser_id, choice] = useSubuserChoice()
  const pools = usePools(subuser_id).data
  const [typed, setList] = useState(useFirstList())
  const isSold = pools?.some((each) => each.pool_type === typed.pool_type) ?? true
  const list = isSold ? typed : { ...typed, pool_type: pools?.[0]?.pool_type ?? typed.pool_type }
  const set = (change: Partial<ProxyListOrder>) => setList({ ...list, ...change })
  const [settled] = useDebouncedValue(list, 250)
  const isWhole = settled.quantity >= 1 && settled.quantity <= 1000 && settled.session_ttl >= 1
  const made = useRead('generateProxies', { body: { ...toBody(settled), subuser_id } }, { isWanted: isWhole })
  const pool = pools?.find((each) => each.pool_type === list.pool_type)
  return (
    <div className="halves">
      <Panel title={t.generate} className="stack">
        <Text c="dimmed">{t.generateAbout}</Text>
        {choice && <div className="line fields">{choice}</div>}
        <LocationFields list={list} pools={pools?.map((each) => each.pool_type) ?? [list.pool_type]} set={set} />
        <Choices
          legend={t.kind}
          value={list.type}
          options={[
            { value: 'sticky', label: t.sticky, note: t.stickyAbout },
            { value: 'rotating', label: t.rotating, note: t.rotatingAbout },
          ]}
          onChange={(type) => set({ type })}
        />
        <Details list={list} set={set} />
      </Panel>
      <Panel title={t.preview} className="stack">
        {pool !== undefined && pool.traffic_gb <= 0 && <div className="notice warn">{t.noTraffic}</div>}
        <Reading of={made} height={220}>
          {({ proxies, params, browser_host: host }) => (
            <>
              <Made text={proxies.map(settled.format_id === 'curl' ? toCurl : String).join('\n')} />
              {params.protocol === 'https' && <Hint>{host === null ? t.noBrowserHost : t.browserHost(host)}</Hint>}
            </>
          )}
        </Reading>
      </Panel>
    </div>
  )
}

function Made({ text }: { readonly text: string }) {
  const { t } = useMessages(premiumMessages)
  return (
    <>
      <Lines text={text} label={t.preview} />
      <div className="line">
        <Button onClick={() => download('proxies.txt', `${text}\n`)}>{t.download}</Button>
        <Copy text={text} />
      </div>
    </>
  )
}

type PartProps = { readonly list: ProxyListOrder; readonly set: (change: Partial<ProxyListOrder>) => void }

/** The pool, and a country and a city in which it has exits. */
function LocationFields({ list, pools, set }: PartProps & { readonly pools: readonly string[] }) {
  const { t, format } = useMessages(premiumMessages)
  const { pool_type, country } = list
  const countries = useRead('listPremiumCountries', { body: { pool_type } }).data?.countries ?? []
  const cities = useRead(
    'listPremiumCities',
    { body: { pool_type, country_code: country } },
    { isWanted: country !== '' },
  ).data?.cities
  const offered = country === '' ? [] : (cities ?? []).filter((each) => each.country_code === country)
  return (
    <div className="line fields">
      <Select
        label={t.pool}
        value={pool_type}
        options={pools.map((pool) => [pool, t.pools[pool] ?? pool] as const)}
        onChange={(chosen) => set({ pool_type: chosen, country: '', city: '' })}
      />
      <Select
        label={t.country}
        value={country}
        options={[
          ['', t.anyCountry],
          ...countries.map((each) => [each.country_code, format.country(each.country_code)] as const),
        ]}
        onChange={(chosen) => set({ country: chosen, city: '' })}
      />
      <Select
        label={t.city}
        value={list.city}
        disabled={offered.length === 0}
        options={[['', t.anyCity], ...offered.map(({ city, name }) => [city, name] as const)]}
        onChange={(city) => set({ city })}
      />
    </div>
  )
}

function Details({ list, set }: PartProps) {
  const { t } = useMessages(premiumMessages)
  return (
    <div className="line fields">
      {list.type === 'sticky' && (
        <NumberField
          label={t.minutes}
          value={list.session_ttl}
          min={1}
          max={120}
          w="9rem"
          allowDecimal={false}
          onChange={(session_ttl) => set({ session_ttl })}
        />
      )}
      <NumberField
        label={t.quantity}
        value={list.quantity}
        min={1}
        max={1000}
        w="9rem"
        allowDecimal={false}
        onChange={(quantity) => set({ quantity })}
      />
      <Select
        label={t.protocol}
        value={list.protocol}
        options={[
          ['http', 'HTTP'],
          ['https', 'HTTPS'],
          ['socks5', 'SOCKS5'],
        ]}
        onChange={(protocol) => set({ protocol })}
      />
      <Select
        label={t.format}
        value={String(list.format_id)}
        options={Object.entries(t.formats)}
        onChange={(value) => set({ format_id: value === 'curl' ? value : (Number(value) as 1 | 2 | 3 | 4) })}
      />
    </div>
  )
}
