import { Button, Modal, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import type { Proxy } from '../../client/customer.ts'
import { Copyable } from '../../shared/copy.tsx'
import { useFormat } from '../../shared/format.ts'
import { useWords } from '../../shared/language.tsx'
import { useNow } from '../../shared/now.ts'
import { Empty, Facts, Page, Panel, Reading } from '../../shared/parts.tsx'
import { RefusalNotice } from '../../shared/refusal-notice.tsx'
import { sharedWords } from '../../shared/words.ts'
import { useChange } from '../api.ts'
import { HowTo } from '../how-to.tsx'
import { AddAddress } from '../my-address.tsx'
import { AutoRenewForm, CommentForm, PasswordsForm, ProtocolForm } from './bulk.tsx'
import { ProxyStatus } from './list.tsx'
import { ProlongForm } from './prolong.tsx'
import { nameOf, useProxies } from './proxies.ts'
import { dedicatedWords } from './words.ts'

export function DedicatedProxy({ id }: { readonly id: number }) {
  const words = useWords(dedicatedWords)
  const proxies = useProxies()
  return (
    <Reading of={proxies} height={400}>
      {(all) => {
        const proxy = all.find((each) => each.id === id)
        return proxy ? (
          <Shown proxy={proxy} />
        ) : (
          <Page title={words.notYours}>
            <Empty icon="server" title={words.notYours} about={words.notYoursAbout}>
              <a href="#/dedicated">{words.toList}</a>
            </Empty>
          </Page>
        )
      }}
    </Reading>
  )
}

function Shown({ proxy }: { readonly proxy: Proxy }) {
  const words = useWords(dedicatedWords)
  const { ip: host, port, username: login, password, port_type: protocol } = proxy
  return (
    <Page
      title={nameOf(proxy)}
      about={proxy.comment === '' ? words.noComment : proxy.comment}
      actions={<Actions proxy={proxy} />}
    >
      <div className="halves">
        <Access proxy={proxy} />
        <Settings proxy={proxy} />
      </div>
      <Panel title={words.use}>
        {password === null ? <Text>{words.hidden}</Text> : <HowTo of={{ host, port, login, password, protocol }} />}
      </Panel>
      <Whitelist proxy={proxy} />
    </Page>
  )
}

/** A button that opens a form over the page; it closes when the form has done its work. */
function Asking({
  label,
  isMain = false,
  children,
}: {
  readonly label: string
  readonly isMain?: boolean
  readonly children: (close: () => void) => ReactNode
}) {
  const shared = useWords(sharedWords)
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <>
      <Button variant={isMain ? 'filled' : 'default'} onClick={() => setOpen(true)}>
        {label}
      </Button>
      <Modal opened={isOpen} onClose={close} title={label} closeButtonProps={{ 'aria-label': shared.close }}>
        {children(close)}
      </Modal>
    </>
  )
}

function Actions({ proxy }: { readonly proxy: Proxy }) {
  const words = useWords(dedicatedWords)
  return (
    <>
      <Asking label={words.replace}>{(close) => <ReplaceForm proxy={proxy} onDone={close} />}</Asking>
      <Asking label={words.prolong} isMain>
        {(close) => <ProlongForm picked={[proxy]} onDone={close} />}
      </Asking>
    </>
  )
}

function ReplaceForm({ proxy, onDone }: { readonly proxy: Proxy; readonly onDone: () => void }) {
  const words = useWords(dedicatedWords)
  const change = useChange('replaceProxy')
  return (
    <div className="stack">
      <Text>{words.replaceAbout}</Text>
      <RefusalNotice error={change.error} />
      <Button
        loading={change.isPending}
        onClick={() => change.mutate({ body: { id: proxy.id } }, { onSuccess: onDone })}
      >
        {words.replace}
      </Button>
    </div>
  )
}

function Access({ proxy }: { readonly proxy: Proxy }) {
  const words = useWords(dedicatedWords)
  const format = useFormat()
  const nowAt = useNow()
  const copyable = (name: string, text: string) => [name, <Copyable key={name} text={text} label={name} />] as const
  return (
    <Panel title={words.access} aside={<ProxyStatus proxy={proxy} />} className="stack">
      <Facts
        of={[
          copyable(words.address, nameOf(proxy)),
          copyable(words.login, proxy.username),
          proxy.password === null ? [words.password, words.hidden] : copyable(words.password, proxy.password),
          copyable(words.exit, proxy.exit_ip),
          [words.country, format.country(proxy.country_code)],
          [words.kind, words.kinds[proxy.ipv]],
          [words.traffic, format.bytes(proxy.traffic.rx_bytes + proxy.traffic.tx_bytes)],
          [words.until, `${format.moment(proxy.expires_at)}, ${format.away(proxy.expires_at, nowAt)}`],
        ]}
      />
      <Check id={proxy.id} />
    </Panel>
  )
}

/** A real connection through the proxy, made by the shop. */
function Check({ id }: { readonly id: number }) {
  const words = useWords(dedicatedWords)
  const format = useFormat()
  const check = useChange('checkProxy')
  return (
    <div className="stack">
      <div>
        <Button variant="default" loading={check.isPending} onClick={() => check.mutate({ body: { id } })}>
          {words.check}
        </Button>
      </div>
      <div role="status">
        {check.data && (
          <div className={check.data.works ? 'notice good' : 'notice'}>
            {check.data.works
              ? words.works(format.number(Math.round(check.data.took_ms ?? 0)))
              : `${words.worksNot}: ${check.data.problem ?? ''}`}
          </div>
        )}
      </div>
      <RefusalNotice error={check.error} />
    </div>
  )
}

function Settings({ proxy }: { readonly proxy: Proxy }) {
  const words = useWords(dedicatedWords)
  const format = useFormat()
  const ids = [proxy.id]
  return (
    <Panel title={words.settings} className="stack">
      <Facts
        of={[
          [words.protocol, words.protocols[proxy.port_type]],
          [words.autoRenew, proxy.auto_renew === null ? words.off : words.every(words.days(proxy.auto_renew, format))],
          [words.comment, proxy.comment === '' ? words.noComment : proxy.comment],
        ]}
      />
      <div className="line">
        <Asking label={words.protocol}>
          {(close) => <ProtocolForm ids={ids} first={proxy.port_type} onDone={close} />}
        </Asking>
        <Asking label={words.autoRenew}>{(close) => <AutoRenewForm picked={[proxy]} onDone={close} />}</Asking>
        <Asking label={words.comment}>
          {(close) => <CommentForm ids={ids} first={proxy.comment} onDone={close} />}
        </Asking>
        <Asking label={words.newPasswords}>{(close) => <PasswordsForm ids={ids} onDone={close} />}</Asking>
      </div>
    </Panel>
  )
}

function Whitelist({ proxy }: { readonly proxy: Proxy }) {
  const words = useWords(dedicatedWords)
  const add = useChange('allowSource')
  const remove = useChange('disallowSource')
  const ids = [proxy.id]
  return (
    <Panel title={words.whitelist} className="stack">
      <Text c="dimmed">{words.whitelistAbout}</Text>
      {proxy.whitelist.length > 0 && (
        <Facts
          of={[
            ...(proxy.whitelist_port === null
              ? []
              : [
                  [
                    words.whitelistPort,
                    <Copyable key="port" text={String(proxy.whitelist_port)} label={words.whitelistPort} />,
                  ] as const,
                ]),
            ...proxy.whitelist.map(
              (each) =>
                [
                  each,
                  <Button
                    key={each}
                    size="compact-sm"
                    variant="default"
                    onClick={() => remove.mutate({ body: { ids, ip: each } })}
                  >
                    {words.remove}
                  </Button>,
                ] as const,
            ),
          ]}
        />
      )}
      <AddAddress
        label={words.yourAddress}
        allowed={proxy.whitelist}
        isPending={add.isPending}
        onAdd={(ip, onDone) => add.mutate({ body: { ids, ip } }, { onSuccess: onDone })}
      />
      <RefusalNotice error={add.error ?? remove.error} />
    </Panel>
  )
}
