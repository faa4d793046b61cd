import { Button, NumberInput, Text, TextInput, Title } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { Form, useTyped } from '../shared/form.tsx'
import { messages, pair, phrase, useMessages } from '../shared/messages.tsx'
import { Country, RowButton, Rows } from '../shared/parts.tsx'
import { tradeMessages } from '../shared/trade.ts'
import { operatorTexts } from './messages.ts'
import {
  listAt,
  numbersAt,
  type PricePath,
  perDayOf,
  perPeriodOf,
  readTerms,
  recordAt,
  setAt,
  termPrice,
} from './price-edit.ts'

const tableMessages = messages({
  ...operatorTexts,
  perDay: pair('Per day, ₽', 'За день, ₽'),
  forDays: phrase('{days} d', '{days} дн.'),
  forProlonging: phrase('{days} d, prolongation only', '{days} дн., только продление'),
  charged: phrase('charged: {price}', 'к оплате: {price}'),
  byTerm: pair('By term', 'По срокам'),
  byDay: pair('By day', 'По дням'),
  byTermAbout: pair(
    'A country has a price per day or a price for each term. Prices for terms are before the discount for the term; ' +
      'the charged price of one proxy is below, and is never above that of a longer term.',
    'У страны задана цена за день или цена для каждого срока. Цены по срокам указаны до скидки за срок; под ними — ' +
      'цена одного прокси к оплате: она не бывает выше цены более длинного срока.',
  ),
  terms: pair('Terms on sale, days', 'Сроки в продаже, дней'),
  badTerms: pair('Whole numbers separated by commas', 'Целые числа через запятую'),
  addCountry: pair('Add the country', 'Добавить страну'),
  fromGb: pair('From, GB', 'От, ГБ'),
  perGb: pair('Per GB, ₽', 'За ГБ, ₽'),
  addTier: pair('Add a tier', 'Добавить ступень'),
  months: pair('Months', 'Месяцев'),
  vpnPrice: pair('Price, ₽', 'Цена, ₽'),
  addTerm: pair('Add the term', 'Добавить срок'),
  quantity: pair('Discount for quantity', 'Скидка за количество'),
  termDiscount: pair('Discount for the term', 'Скидка за срок'),
  fromCount: pair('From, proxies', 'От, штук'),
  fromDays: pair('From, days', 'От, дней'),
  percent: pair('Discount, %', 'Скидка, %'),
  sections: pair('Go to', 'Перейти к'),
  addDiscount: pair('Add a discount', 'Добавить скидку'),
})

type Prices = Readonly<Record<string, unknown>>
type TableProps = { readonly of: Prices; readonly isReadOnly: boolean; readonly onChange: (next: Prices) => void }
type PartProps = TableProps & { readonly path: PricePath }

/** The price list as tables. What they do not show, such as speeds and rules, stays as it is. */
export function PriceTable(props: TableProps) {
  const { t: trade } = useMessages(tradeMessages)
  const kinds = Object.keys(recordAt(props.of, 'dedicated', 'kinds'))
  const pools = Object.keys(recordAt(props.of, 'premium', 'pools'))
  const hasVpn = 'vpn' in props.of && props.of['vpn'] !== null
  const kindName = (kind: string) => trade.ipvs[kind] ?? kind
  const poolName = (pool: string) => trade.pools[pool] ?? pool
  return (
    <div className="stack">
      <Sections of={[...kinds.map(kindName), ...pools.map(poolName), ...(hasVpn ? ['VPN'] : [])]} />
      {kinds.map((kind) => (
        <Kind key={kind} {...props} path={['dedicated', 'kinds', kind]} name={kindName(kind)} />
      ))}
      {pools.map((pool) => (
        <Pool key={pool} {...props} path={['premium', 'pools', pool, 'tiers']} name={poolName(pool)} />
      ))}
      {hasVpn && <Vpn {...props} path={['vpn', 'months']} />}
    </div>
  )
}

/** Links within a page: its path is behind the `#`, so they scroll by themselves. */
function Sections({ of }: { readonly of: readonly string[] }) {
  const { t } = useMessages(tableMessages)
  const show = (name: string) => document.getElementById(`prices ${name}`)?.scrollIntoView()
  return (
    <nav className="line" aria-label={t.sections}>
      {of.map((name) => (
        <RowButton key={name} label={name} isQuiet onClick={() => show(name)} />
      ))}
    </nav>
  )
}

type PriceProps = PartProps & { readonly label: string; readonly value: unknown }

function Price({ of, path, isReadOnly, onChange, label, value }: PriceProps) {
  return (
    <NumberInput
      aria-label={label}
      size="xs"
      w="7rem"
      hideControls
      readOnly={isReadOnly}
      value={typeof value === 'number' || typeof value === 'string' ? value : ''}
      onChange={(typed) => onChange(setAt(of, path, typed === '' ? '' : Number(typed)))}
    />
  )
}

type NamedProps = PartProps & { readonly name: string }

function Kind(props: NamedProps) {
  const { t } = useMessages(tableMessages)
  const { path, name, isReadOnly } = props
  return (
    <section className="stack" id={`prices ${name}`}>
      <Title order={2}>{name}</Title>
      <Terms {...props} path={[...path, 'periods']} />
      <Countries {...props} />
      {!isReadOnly && <AddCountry {...props} />}
      <div className="halves">
        <Steps {...props} path={[...path, 'volume']} name={`${name}: ${t.quantity}`} from={t.fromCount} />
        <Steps {...props} path={[...path, 'term']} name={`${name}: ${t.termDiscount}`} from={t.fromDays} />
      </div>
    </section>
  )
}

type CountryRow = { readonly country: string; readonly rate: Prices }

/** Prices by country: by the day, with what each term costs for it, or by the term. */
function Countries({ name, ...props }: NamedProps) {
  const { t, format } = useMessages(tableMessages)
  const { of, path, isReadOnly, onChange } = props
  const countries = recordAt(of, ...path, 'countries')
  const rows = Object.keys(countries).map((country): CountryRow => ({ country, rate: recordAt(countries, country) }))
  const periods = numbersAt(of, ...path, 'periods')
  const prolonging = numbersAt(of, 'dedicated', 'prolong_periods').filter(
    (days) => !periods.includes(days) && rows.some(({ rate }) => days in recordAt(rate, 'per_period')),
  )
  const labelOf = (country: string, what: string) => `${name} ${format.country(country)}, ${what}`
  const price = (country: string, what: string, value: unknown, ...at: PricePath) => (
    <Price {...props} path={[...path, 'countries', country, ...at]} label={labelOf(country, what)} value={value} />
  )
  const priceOfTerm = (days: number, { country, rate }: CountryRow) => (
    <TermPrice {...props} rate={rate} days={days}>
      {price(country, t.forDays(String(days)), recordAt(rate, 'per_period')[days], 'per_period', days)}
    </TermPrice>
  )
  const remove = (country: string) => onChange(setAt(of, [...path, 'countries', country], undefined))
  return (
    <>
      <Text size="sm" c="dimmed">
        {t.byTermAbout}
      </Text>
      <Rows
        hasCsv={false}
        isSortable={false}
        label={name}
        rows={rows}
        keyOf={(row) => row.country}
        columns={(column) => [
          column(t.country, (row) => <Country code={row.country} />),
          column(t.perDay, (row) => (
            <>
              {'per_day' in row.rate && price(row.country, t.perDay, row.rate['per_day'], 'per_day')}
              {isReadOnly ? (
                !('per_day' in row.rate) && '—'
              ) : (
                <SwitchRate {...props} {...row} name={labelOf(row.country, '')} />
              )}
            </>
          )),
          ...prolonging.map((days) => column.number(t.forProlonging(String(days)), (row) => priceOfTerm(days, row))),
          ...periods.map((days) => column.number(t.forDays(String(days)), (row) => priceOfTerm(days, row))),
          ...(isReadOnly
            ? []
            : [
                column.action(t.remove, ({ country }) => (
                  <RowButton label={t.remove} of={labelOf(country, '')} isQuiet onClick={() => remove(country)} />
                )),
              ]),
        ]}
      />
    </>
  )
}

type TermPriceProps = PartProps & {
  readonly rate: Prices
  readonly days: number
  /** The field of a price by the term. */
  readonly children: ReactNode
}

/** The price of a term: computed from a price per day, or a field, with the charged price if it differs. */
function TermPrice({ of, path, rate, days, children }: TermPriceProps) {
  const { t, format } = useMessages(tableMessages)
  const periods = numbersAt(of, ...path, 'periods')
  const terms = periods.includes(days) ? periods : numbersAt(of, 'dedicated', 'prolong_periods')
  const isByDay = 'per_day' in rate
  const prices = isByDay ? perPeriodOf(Number(rate['per_day']), terms) : recordAt(rate, 'per_period')
  const charged = termPrice(prices, days, terms, listAt(of, ...path, 'term'))
  const shown = charged === undefined ? '—' : format.exactMoney(charged)
  if (isByDay) return shown
  return (
    <>
      {children}
      {charged !== undefined && charged !== Number(prices[days]) && (
        <Text size="xs" c="dimmed">
          {t.charged(shown)}
        </Text>
      )}
    </>
  )
}

/** Switches to prices by term, which keeps the price of every term, or to the shortest term's price per day. */
function SwitchRate({ of, path, country, rate, name, onChange }: NamedProps & CountryRow) {
  const { t } = useMessages(tableMessages)
  const terms = [...numbersAt(of, ...path, 'periods'), ...numbersAt(of, 'dedicated', 'prolong_periods')]
  const isByDay = 'per_day' in rate
  const switched = isByDay
    ? { per_period: perPeriodOf(Number(rate['per_day']), terms) }
    : { per_day: perDayOf(recordAt(rate, 'per_period')) }
  const change = () => onChange(setAt(of, [...path, 'countries', country], switched))
  return <RowButton label={isByDay ? t.byTerm : t.byDay} of={name} isQuiet onClick={change} />
}

/** A new country begins with the price of the first one. */
function AddCountry({ of, path, name, onChange }: NamedProps) {
  const { t } = useMessages(tableMessages)
  const typed = useTyped()
  const countries = recordAt(of, ...path, 'countries')
  const code = typed.text.toUpperCase()
  const isNew = /^[A-Z]{2}$/.test(code) && !(code in countries)
  const add = () => {
    onChange(setAt(of, [...path, 'countries', code], Object.values(countries)[0] ?? { per_day: 1 }))
    typed.set('')
  }
  return (
    <Form className="line fields" onSubmit={() => isNew && add()}>
      <TextInput label={`${t.countryCode} (${name})`} maxLength={2} w="12rem" {...typed.props} />
      <Button type="submit" variant="default" disabled={!isNew}>
        {t.addCountry}
      </Button>
    </Form>
  )
}

function Terms({ of, path, name, isReadOnly, onChange }: NamedProps) {
  const { t } = useMessages(tableMessages)
  const [text, setText] = useState(() => numbersAt(of, ...path).join(', '))
  const edit = (next: string) => {
    setText(next)
    const terms = readTerms(next)
    if (terms) onChange(setAt(of, path, terms))
  }
  return (
    <TextInput
      label={`${t.terms} (${name})`}
      value={text}
      readOnly={isReadOnly}
      maw="24rem"
      error={readTerms(text) === undefined ? t.badTerms : undefined}
      onChange={(event) => edit(event.currentTarget.value)}
    />
  )
}

type PairsProps = NamedProps & {
  readonly first: readonly [field: string, label: string]
  readonly second: readonly [field: string, label: string]
  readonly addLabel: string
  readonly step: number
}

/** A list of pairs of numbers that rise by the first one, such as tiers and discounts. */
function Pairs({ name, first, second, addLabel, step, ...props }: PairsProps) {
  const { t } = useMessages(tableMessages)
  const { of, path, isReadOnly, onChange } = props
  const rows = listAt(of, ...path).map((row, index) => ({ row, index }))
  const last = rows.at(-1)?.row
  const add = () => {
    const next = { [first[0]]: Number(last?.[first[0]] ?? 0) + step, [second[0]]: Number(last?.[second[0]] ?? 1) }
    onChange(setAt(of, [...path, rows.length], next))
  }
  const cell = (row: (typeof rows)[number], [field, label]: readonly [string, string]) => (
    <Price
      {...props}
      path={[...path, row.index, field]}
      label={`${name} ${row.index + 1}, ${label}`}
      value={row.row[field]}
    />
  )
  return (
    <div className="stack">
      <Rows
        hasCsv={false}
        isSortable={false}
        label={name}
        rows={rows}
        keyOf={({ index }) => index}
        columns={(column) => [
          column(first[1], (row) => cell(row, first)),
          column(second[1], (row) => cell(row, second)),
          ...(isReadOnly
            ? []
            : [
                column.action(t.remove, ({ index }) => (
                  <RowButton
                    label={t.remove}
                    of={`${name} ${index + 1}`}
                    isQuiet
                    onClick={() => onChange(setAt(of, [...path, index], undefined))}
                  />
                )),
              ]),
        ]}
      />
      {!isReadOnly && (
        <div>
          <RowButton label={addLabel} of={name} onClick={add} />
        </div>
      )}
    </div>
  )
}

function Steps({ from, ...props }: NamedProps & { readonly from: string }) {
  const { t } = useMessages(tableMessages)
  return <Pairs {...props} first={['from', from]} second={['percent', t.percent]} addLabel={t.addDiscount} step={10} />
}

function Pool({ name, ...props }: NamedProps) {
  const { t } = useMessages(tableMessages)
  return (
    <section className="stack" id={`prices ${name}`}>
      <Title order={2}>{name}</Title>
      <Pairs
        {...props}
        name={name}
        first={['from_gb', t.fromGb]}
        second={['per_gb', t.perGb]}
        addLabel={t.addTier}
        step={10}
      />
    </section>
  )
}

function Vpn(props: PartProps) {
  const { t } = useMessages(tableMessages)
  const { of, path, isReadOnly, onChange } = props
  const added = useTyped()
  const months = recordAt(of, ...path)
  const isNew = /^[1-9]\d?$/.test(added.text) && !(added.text in months)
  const add = () => {
    onChange(setAt(of, [...path, added.text], Object.values(months).at(-1) ?? 1))
    added.set('')
  }
  return (
    <section className="stack" id="prices VPN">
      <Title order={2}>VPN</Title>
      <Rows
        hasCsv={false}
        isSortable={false}
        label="VPN"
        rows={Object.entries(months)}
        keyOf={([term]) => term}
        columns={(column) => [
          column(t.months, ([term]) => term),
          column(t.vpnPrice, ([term, price]) => (
            <Price {...props} path={[...path, term]} label={`VPN, ${t.months}: ${term}`} value={price} />
          )),
          ...(isReadOnly
            ? []
            : [
                column.action(t.remove, ([term]) => (
                  <RowButton
                    label={t.remove}
                    of={`VPN ${term}`}
                    isQuiet
                    onClick={() => onChange(setAt(of, [...path, term], undefined))}
                  />
                )),
              ]),
        ]}
      />
      {!isReadOnly && (
        <Form className="line fields" onSubmit={() => isNew && add()}>
          <TextInput label={`${t.months} (VPN)`} inputMode="numeric" maxLength={2} w="12rem" {...added.props} />
          <Button type="submit" variant="default" disabled={!isNew}>
            {t.addTerm}
          </Button>
        </Form>
      )}
    </section>
  )
}
