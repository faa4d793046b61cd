import { flagSvg } from '../../console/styles/flags.ts'
import { escapeHtml } from '../html-page.ts'
import { drawings } from './drawings.ts'
import { toHtml } from './markdown.ts'
import { kindTexts, poolTexts, protocolNames, stockTexts, texts, usualQuestions, ways } from './texts.ts'
import type { Writer } from './writer.ts'

const tableDays = 30
/** What the button of a pool orders. */
const usualGigabytes = 5

/** A section with an id for links, a heading and a sentence. */
const section = (id: string, title: string, about: string, content: string): string =>
  `<section id="${id}" aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2>
${about === '' ? '' : `<p>${about}</p>`}${content}</section>`

/** A table that is wider than a phone scrolls, so the keyboard must reach it (WCAG 2.1.1). */
/** A flag beside the name of its country, or the code of a country without one. */
function flagOf(code: string): string {
  const flag = flagSvg(code)
  return `<span class="${flag === undefined ? 'code' : 'flag'}" aria-hidden="true">${flag ?? code}</span>`
}

const scrolling = (table: string): string => `<div class="card scroll" tabindex="0">${table}</div>`

type Kind = Writer['shown']['dedicated']['kinds'][number]

/**
 * A row for each country and a column for each type, with the price of 30 days or of the next term. On a phone the
 * country is a line above its prices. The roles are named, because browsers drop them where a style changes `display`.
 */
export function writeProxies(writer: Writer): string {
  const { shown, say, of, rub, language } = writer
  const { kinds } = shown.dedicated
  if (kinds.length === 0) return ''
  const countries = new Map(kinds.flatMap((kind) => kind.countries.map((each) => [each.country_code, each] as const)))
  const heads = kinds.map((kind) => {
    const [name, about] = kindTexts[kind.ipv] ?? [{ en: `IPv${kind.ipv}`, ru: `IPv${kind.ipv}` }, undefined]
    return `<th scope="col" role="columnheader">${of(name)}${about ? `<small>${of(about)}</small>` : ''}</th>`
  })
  const cellOf = (kind: Kind, code: string): string => {
    const found = kind.countries.find((each) => each.country_code === code)
    const price = found?.prices.find(({ period }) => period >= tableDays) ?? found?.prices.at(-1)
    if (!found || !price) return '<td class="dim" role="cell">–</td>'
    const term = price.period === tableDays ? '' : `<small>${say('days', { days: price.period })}</small>`
    const stock = `<small class="${found.stock}">${of(stockTexts[found.stock])}</small>`
    return `<td role="cell">${rub(price.price_rub)}${term}${stock}</td>`
  }
  const rows = [...countries]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([code, each]) => {
      const name = escapeHtml(language === 'ru' ? each.name_ru : each.name)
      const cells = kinds.map((kind) => cellOf(kind, code)).join('')
      return `<tr role="row"><th scope="row" role="rowheader">${flagOf(code)}${name}</th>${cells}</tr>`
    })
  const first = `<th scope="col" role="columnheader">${say('country')}</th>`
  const head = `<thead role="rowgroup"><tr role="row">${first}${heads.join('')}</tr></thead>`
  const table = `<table role="table">${head}<tbody role="rowgroup">${rows.join('\n')}</tbody></table>`
  return section(
    'proxies',
    say('proxies'),
    say('proxiesAbout', { days: tableDays }),
    scrolling(table) + writeDiscounts(writer),
  )
}

function writeDiscounts({ shown, say, of }: Writer): string {
  const lines = shown.dedicated.kinds.flatMap((kind) => {
    const parts = [
      ...kind.volume_discounts.map((each) => say('byCount', { percent: each.percent, from: each.from_count })),
      ...kind.term_discounts.map((each) => say('byTerm', { percent: each.percent, from: each.from_days })),
    ]
    const [name] = kindTexts[kind.ipv] ?? []
    return parts.length === 0 ? [] : [`<li>${name ? `${of(name)}: ` : ''}${parts.join(', ')}</li>`]
  })
  return lines.length === 0 ? '' : `<h3>${say('discounts')}</h3><ul class="dim">${lines.join('')}</ul>`
}

export function writePremium({ shown, say, of, rub, buyButton }: Writer): string {
  const { pools } = shown.premium
  if (pools.length === 0) return ''
  const cards = pools.map((pool) => {
    const tiers = pool.tiers.map((tier, index) => {
      const from = index === 0 ? '' : `${say('fromGb', { from: tier.from_gb })}: `
      return `<li>${from}${rub(tier.price_per_gb_rub)} ${say('perGb')}</li>`
    })
    const name = poolTexts[pool.pool_type]
    const level = pool.is_available ? 'available' : 'none'
    return `<li class="card"><h3>${name ? of(name) : escapeHtml(pool.pool_type)}</h3>
<ul>${tiers.join('')}</ul><small class="${level}">${of(stockTexts[level])}</small><br>
${pool.is_available ? buyButton({ product: 'traffic', pool: pool.pool_type, gb: usualGigabytes }) : ''}</li>`
  })
  return section('premium', say('premium'), say('premiumAbout'), `<ul class="grid">${cards.join('\n')}</ul>`)
}

export function writeVpn({ shown, say, of, rub, buyButton }: Writer): string {
  const { vpn } = shown
  if (!vpn) return ''
  const cards = vpn.prices.map(({ period, price_rub: price, price_per_month_rub: perMonth }) => {
    const name = period === 1 ? say('oneMonth') : say('month', { months: period })
    const each = period === 1 ? '' : `<small class="dim">${rub(perMonth)} ${say('perMonth')}</small>`
    return `<li class="card"><h3>${name}</h3><span class="price">${rub(price)}</span><br>${each}
${vpn.is_available ? `<br>${buyButton({ product: 'vpn', months: period })}` : ''}</li>`
  })
  const one = vpn.more_devices.find(({ count }) => count === 1)
  const facts = [
    vpn.traffic_gb === null ? say('unlimited') : say('traffic', { gb: vpn.traffic_gb }),
    ...(one ? [of(texts.moreDevices).replace('{price}', rub(one.price_rub))] : []),
    ...vpn.protocols.map((each) => escapeHtml(protocolNames[each] ?? each)),
    ...vpn.locations.map(({ location }) => escapeHtml(location)),
    ...(vpn.is_available ? [] : [of(stockTexts.none)]),
  ]
  const tags = `<ul class="tags">${facts.map((each) => `<li>${each}</li>`).join('')}</ul>`
  const about = say('vpnAbout', { devices: vpn.device_limit })
  return section('vpn', say('vpn'), about, `<ul class="grid">${cards.join('\n')}</ul>${tags}`)
}

export const writeWays = ({ say, of }: Writer): string =>
  section(
    'connect',
    say('connect'),
    '',
    `<ul class="grid">${ways
      .map(
        ({ drawing, name, about }) =>
          `<li class="card">${drawings[drawing]}<h3>${of(name)}</h3><span class="dim">${of(about)}</span></li>`,
      )
      .join('\n')}</ul>`,
  )

export function writePayment({ shown, say, rub, payBy }: Writer): string {
  const methods = shown.payment_methods.map(({ method, name, fee_percent: percent, min_rub: min }) => {
    const fee = percent > 0 ? `, ${say('fee', { percent })}` : ''
    return `<li>${payBy(method, name)} <span class="dim">${say('from')} ${rub(min)}${fee}</span></li>`
  })
  const content = methods.length === 0 ? `<p>${say('noMethod')}</p>` : `<ul class="tags">${methods.join('')}</ul>`
  return section('pay', say('pay'), methods.length === 0 ? '' : say('payAbout'), content)
}

/** The operator's questions; without them, those of every shop. */
export function writeQuestions({ brand, say, of, language }: Writer): string {
  const own = brand.texts.questions?.[language]
  const content =
    own === undefined
      ? usualQuestions
          .map(([question, answer]) => `<details><summary>${of(question)}</summary><p>${of(answer)}</p></details>`)
          .join('\n')
      : toHtml(own)
  return section('questions', say('questions'), '', `<div class="card">${content}</div>`)
}
