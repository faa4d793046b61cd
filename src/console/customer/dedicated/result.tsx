import { Button, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import type { Proxy } from '../../client/customer.ts'
import { Listing } from '../../shared/copy.tsx'
import { Select } from '../../shared/form.tsx'
import { messages, pair, useMessages } from '../../shared/messages.tsx'
import { Country, Facts, Panel, Reading } from '../../shared/parts.tsx'
import { QrCode } from '../../shared/qr.tsx'
import { useRead } from '../api.ts'
import { schemesOf, toLine, toUrl } from '../endpoint.ts'
import { HowTo, Steps } from '../how-to.tsx'
import { CheckMany } from './check.tsx'
import { endpointOf, nameOf } from './endpoint.ts'
import { dedicatedMessages } from './messages.ts'
import { useProxies } from './use-proxies.ts'

const resultMessages = messages({
  theirs: pair('What you have', 'Что у вас есть'),
  checkIt: pair('Check it', 'Проверка'),
  which: pair('Proxy', 'Прокси'),
  code: pair('For a phone', 'Для телефона'),
  codeOf: pair('QR code of the first proxy', 'QR-код первого прокси'),
})

/** More are found in the list of proxies. */
const maxListed = 100

type ResultProps = { readonly proxies: readonly Proxy[]; readonly children?: ReactNode }

/** Proxies right after their purchase: the lines to copy, a check, and how to use them in a program. */
export function ProxiesResult({ proxies, children }: ResultProps) {
  const { t: own } = useMessages(resultMessages)
  const { t, format } = useMessages(dedicatedMessages)
  const [first] = proxies
  if (first === undefined) return null
  const lines = proxies.map((each) =>
    each.password === null ? nameOf(each) : toLine(endpointOf(each, each.password), '1'),
  )
  return (
    <>
      <div className="halves">
        <Panel title={own.theirs} className="stack">
          <Facts
            of={[
              [t.title, format.number(proxies.length)],
              [t.country, <Country code={first.country_code} />],
              [t.kind, t.kinds[first.ipv]],
              [t.protocol, t.protocols[first.port_type]],
              [t.until, format.moment(first.expires_at)],
            ]}
          />
          <Listing text={lines.join('\n')} label={t.title} />
          {children}
        </Panel>
        <div className="stack">
          <Panel title={own.checkIt} className="stack">
            <CheckMany picked={proxies} />
          </Panel>
          {first.password !== null && (
            <Panel title={own.code} className="stack not-on-phone">
              <QrCode text={toUrl(endpointOf(first, first.password))} label={own.codeOf} />
            </Panel>
          )}
        </div>
      </div>
      <Panel title={t.use} className="stack">
        <UseOne proxies={proxies} />
      </Panel>
    </>
  )
}

/** How to use one of the proxies; the first, until another is chosen. */
function UseOne({ proxies }: { readonly proxies: readonly Proxy[] }) {
  const { t: own } = useMessages(resultMessages)
  const [chosen, setChosen] = useState('0')
  const proxy = proxies[Number(chosen)]
  if (proxy === undefined) return null
  const listed = proxies.slice(0, maxListed).map((each, index) => [String(index), nameOf(each)] as const)
  return (
    <>
      {listed.length > 1 && (
        <Select label={own.which} maw="20rem" value={chosen} options={listed} onChange={setChosen} />
      )}
      <UseProxy proxy={proxy} />
    </>
  )
}

export function UseProxy({ proxy }: { readonly proxy: Proxy }) {
  const { t } = useMessages(dedicatedMessages)
  if (proxy.password === null) return <Text>{t.hidden}</Text>
  const of = endpointOf(proxy, proxy.password)
  return <HowTo schemes={schemesOf(of)}>{(chosen) => <Steps of={of} {...chosen} />}</HowTo>
}

/** The proxies of an order that a payment has bought. */
export function OrderedProxies({ order }: { readonly order: string }) {
  const { t } = useMessages(dedicatedMessages)
  const found = useRead('getOrder', { params: { order_id: order } })
  const proxies = useProxies()
  return (
    <Reading of={found} height={200}>
      {({ delivered }) => {
        const ids = new Set(delivered.map((each) => each['proxy']))
        const bought = proxies.data?.filter((each) => ids.has(each.id)) ?? []
        return (
          <ProxiesResult proxies={bought}>
            <div>
              <Button component="a" variant="default" href="#/dedicated">
                {t.toList}
              </Button>
            </div>
          </ProxiesResult>
        )
      }}
    </Reading>
  )
}
