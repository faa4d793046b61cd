import { Button, Text } from '@mantine/core'
import { Copyable } from '../../shared/copy.tsx'
import { useMessages } from '../../shared/messages.tsx'
import { Facts, Hint, Panel, Reading, RefusalNotice, RowButton, Rows } from '../../shared/parts.tsx'
import { useChange, useRead } from '../api.ts'
import { HowTo } from '../how-to.tsx'
import { AddAddress } from '../my-address.tsx'
import { Generated } from './generated.tsx'
import { premiumMessages } from './messages.ts'
import { usePools } from './use-pools.ts'

export function AccessTab() {
  const { t } = useMessages(premiumMessages)
  const pool = usePools().data?.[0]?.pool_type ?? 'residential'
  return (
    <>
      <div className="halves">
        <Credentials />
        <Whitelist />
      </div>
      <Panel title={t.use}>
        <HowTo schemes={['http', 'https', 'socks5']}>{(chosen) => <Generated pool={pool} {...chosen} />}</HowTo>
      </Panel>
    </>
  )
}

type Whose = { readonly subuser?: string | undefined }

export function Credentials({ subuser }: Whose) {
  const { t } = useMessages(premiumMessages)
  const reset = useChange('resetPassword')
  return (
    <Panel title={t.credentials} className="stack">
      <Reading of={useRead('getPassword', { query: { subuser_id: subuser } })}>
        {({ login, password }) => (
          <Facts
            of={[
              [t.login, <Copyable text={login} label={t.login} />],
              [t.password, <Copyable text={password} label={t.password} />],
            ]}
          />
        )}
      </Reading>
      <Hint>{t.newPasswordAbout}</Hint>
      <div>
        <Button
          variant="default"
          loading={reset.isPending}
          onClick={() => reset.mutate({ body: { subuser_id: subuser } })}
        >
          {t.newPassword}
        </Button>
      </div>
      <RefusalNotice error={reset.error} />
    </Panel>
  )
}

export function Whitelist({ subuser }: Whose) {
  const { t, format } = useMessages(premiumMessages)
  const read = useRead('getWhitelist', { query: { subuser_id: subuser } })
  const add = useChange('addToWhitelist')
  const remove = useChange('removeFromWhitelist')
  return (
    <Panel
      title={t.whitelist}
      className="stack"
      aside={
        read.data && (
          <span className="quiet">{t.limit(format.number(read.data.ips.length), format.number(read.data.limit))}</span>
        )
      }
    >
      <Text c="dimmed">{t.whitelistAbout}</Text>
      <Reading of={read}>
        {({ ips }) => (
          <Rows
            label={t.whitelist}
            rows={ips}
            keyOf={(row) => row.ip}
            empty={<Text>{t.whitelistNone}</Text>}
            columns={(column) => [
              column(
                t.address,
                (row) => <span className="mono">{row.ip}</span>,
                (row) => row.ip,
              ),
              column.value(t.lastUsed, (row) => row.last_used_at, format.moment, t.never),
              column.action(t.remove, ({ ip }) => (
                <RowButton
                  label={t.remove}
                  of={ip}
                  onClick={() => remove.mutate({ body: { ip, subuser_id: subuser } })}
                />
              )),
            ]}
          />
        )}
      </Reading>
      <AddAddress
        label={t.address}
        allowed={read.data?.ips.map((each) => each.ip) ?? []}
        isPending={add.isPending}
        onAdd={(ip, onDone) => add.mutate({ body: { ip, subuser_id: subuser } }, { onSuccess: onDone })}
      />
      <RefusalNotice error={add.error ?? remove.error} />
    </Panel>
  )
}
