import { Button, Text } from '@mantine/core'
import type { Proxy } from '../../client/customer.ts'
import { useNow } from '../../shared/browser.ts'
import { Copyable } from '../../shared/copy.tsx'
import { DialogButton } from '../../shared/dialog.tsx'
import { useMessages } from '../../shared/messages.tsx'
import { Facts, MissingPage, Page, Panel, Reading, RefusalNotice, RowButton } from '../../shared/parts.tsx'
import { useChange } from '../api.ts'
import { MetadataPanel } from '../metadata.tsx'
import { AddAddress } from '../my-address.tsx'
import { AutoRenewForm, CommentForm, PasswordsForm, ProlongForm, ProtocolForm, ReplaceForm } from './bulk.tsx'
import { CheckMany } from './check.tsx'
import { DaysChart, useDays } from './days.tsx'
import { nameOf } from './endpoint.ts'
import { ProxyStatus } from './list.tsx'
import { dedicatedMessages } from './messages.ts'
import { UseProxy } from './result.tsx'
import { useProxies } from './use-proxies.ts'

type ProxyProps = { readonly proxy: Proxy }

export function DedicatedProxy({ id }: { readonly id: number }) {
  const { t } = useMessages(dedicatedMessages)
  const proxies = useProxies()
  return (
    <Reading of={proxies} height={400}>
      {(all) => {
        const proxy = all.find((each) => each.id === id)
        return proxy ? (
          <Shown proxy={proxy} />
        ) : (
          <MissingPage icon="server" title={t.notYours} about={t.notYoursAbout}>
            <a href="#/dedicated">{t.toList}</a>
          </MissingPage>
        )
      }}
    </Reading>
  )
}

function Shown({ proxy }: ProxyProps) {
  const { t } = useMessages(dedicatedMessages)
  return (
    <Page title={nameOf(proxy)} about={proxy.comment || t.noComment} actions={<Actions proxy={proxy} />}>
      <div className="halves">
        <Access proxy={proxy} />
        <Settings proxy={proxy} />
      </div>
      <Panel title={t.use}>
        <UseProxy proxy={proxy} />
      </Panel>
      <Whitelist proxy={proxy} />
      <MetadataPanel kind="proxy" id={proxy.id} of={proxy.metadata} />
    </Page>
  )
}

function Actions({ proxy }: ProxyProps) {
  const { t } = useMessages(dedicatedMessages)
  return (
    <>
      <Button component="a" variant="subtle" href="#/dedicated">
        {t.toList}
      </Button>
      <DialogButton label={t.replace}>{(close) => <ReplaceForm picked={[proxy]} onDone={close} />}</DialogButton>
      <DialogButton label={t.prolong} look={{ variant: 'filled' }}>
        {(close) => <ProlongForm picked={[proxy]} onDone={close} />}
      </DialogButton>
    </>
  )
}

function Access({ proxy }: ProxyProps) {
  const { t, format } = useMessages(dedicatedMessages)
  const nowAt = useNow()
  const days = useDays([proxy.id]).get(proxy.id)
  const copyable = (name: string, text: string) => [name, <Copyable text={text} label={name} />] as const
  return (
    <Panel title={t.access} aside={<ProxyStatus proxy={proxy} isLong />} className="stack">
      <Facts
        of={[
          copyable(t.address, nameOf(proxy)),
          copyable(t.login, proxy.username),
          proxy.password === null ? [t.password, t.hidden] : copyable(t.password, proxy.password),
          copyable(t.exit, proxy.exit_ip),
          [t.country, format.country(proxy.country_code)],
          [t.kind, t.kinds[proxy.ipv]],
          [
            t.traffic,
            <span className="line">
              {format.bytes(proxy.traffic.rx_bytes + proxy.traffic.tx_bytes)} {days && <DaysChart days={days} />}
            </span>,
          ],
          [t.until, `${format.moment(proxy.expires_at)}, ${format.away(proxy.expires_at, nowAt)}`],
        ]}
      />
      <CheckMany picked={[proxy]} />
    </Panel>
  )
}

function Settings({ proxy }: ProxyProps) {
  const { t, format } = useMessages(dedicatedMessages)
  const ids = [proxy.id]
  return (
    <Panel title={t.settings} className="stack">
      <Facts
        of={[
          [t.protocol, t.protocols[proxy.port_type]],
          [t.autoRenew, proxy.auto_renew === null ? t.off : t.every(t.days(proxy.auto_renew, format))],
          [t.comment, proxy.comment || t.noComment],
        ]}
      />
      <div className="line">
        <DialogButton label={t.protocol}>{(close) => <ProtocolForm picked={[proxy]} onDone={close} />}</DialogButton>
        <DialogButton label={t.autoRenew}>{(close) => <AutoRenewForm picked={[proxy]} onDone={close} />}</DialogButton>
        <DialogButton label={t.comment}>{(close) => <CommentForm picked={[proxy]} onDone={close} />}</DialogButton>
        <DialogButton label={t.newPassword}>{(close) => <PasswordsForm ids={ids} onDone={close} />}</DialogButton>
      </div>
    </Panel>
  )
}

function Whitelist({ proxy }: ProxyProps) {
  const { t } = useMessages(dedicatedMessages)
  const add = useChange('allowSource')
  const remove = useChange('disallowSource')
  const ids = [proxy.id]
  const { whitelist, whitelist_port } = proxy
  const removing = (ip: string) => <RowButton label={t.remove} onClick={() => remove.mutate({ body: { ids, ip } })} />
  return (
    <Panel title={t.whitelist} className="stack">
      <Text c="dimmed">{t.whitelistAbout}</Text>
      {whitelist.length > 0 && (
        <Facts
          of={[
            whitelist_port !== null && [
              t.whitelistPort,
              <Copyable text={String(whitelist_port)} label={t.whitelistPort} />,
            ],
            ...whitelist.map((ip) => [ip, removing(ip)] as const),
          ]}
        />
      )}
      <AddAddress
        label={t.yourAddress}
        allowed={whitelist}
        isPending={add.isPending}
        onAdd={(ip, onDone) => add.mutate({ body: { ids, ip } }, { onSuccess: onDone })}
      />
      <RefusalNotice error={add.error ?? remove.error} />
    </Panel>
  )
}
