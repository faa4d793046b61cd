import { Button, Text } from '@mantine/core'
import { Copyable } from '../../shared/copy.tsx'
import { useFormat } from '../../shared/format.ts'
import { useWords } from '../../shared/language.tsx'
import { Facts, Panel, Reading } from '../../shared/parts.tsx'
import { RefusalNotice } from '../../shared/refusal-notice.tsx'
import { Rows } from '../../shared/rows.tsx'
import { useChange, useRead } from '../api.ts'
import { HowTo } from '../how-to.tsx'
import { AddAddress } from '../my-address.tsx'
import { premiumWords } from './words.ts'

export function AccessTab() {
  const words = useWords(premiumWords)
  return (
    <>
      <div className="halves">
        <Credentials />
        <Whitelist />
      </div>
      <Panel title={words.use}>
        <UseIt />
      </Panel>
    </>
  )
}

type Whose = { readonly subuser?: string | undefined }

export function Credentials({ subuser }: Whose) {
  const words = useWords(premiumWords)
  const read = useRead('getPassword', { query: { subuser_id: subuser } })
  const reset = useChange('resetPassword')
  return (
    <Panel title={words.credentials} className="stack">
      <Reading of={read}>
        {({ login, password }) => (
          <Facts
            of={[
              [words.login, <Copyable key="login" text={login} label={words.login} />],
              [words.password, <Copyable key="password" text={password} label={words.password} />],
            ]}
          />
        )}
      </Reading>
      <Text size="sm" c="dimmed">
        {words.newPasswordAbout}
      </Text>
      <div>
        <Button
          variant="default"
          loading={reset.isPending}
          onClick={() => reset.mutate({ body: { subuser_id: subuser } })}
        >
          {words.newPassword}
        </Button>
      </div>
      <RefusalNotice error={reset.error} />
    </Panel>
  )
}

export function Whitelist({ subuser }: Whose) {
  const words = useWords(premiumWords)
  const format = useFormat()
  const read = useRead('getWhitelist', { query: { subuser_id: subuser } })
  const add = useChange('addToWhitelist')
  const remove = useChange('removeFromWhitelist')
  return (
    <Panel
      title={words.whitelist}
      className="stack"
      aside={
        read.data && (
          <span className="quiet">
            {words.limit(format.number(read.data.ips.length), format.number(read.data.limit))}
          </span>
        )
      }
    >
      <Text c="dimmed">{words.whitelistAbout}</Text>
      <Reading of={read}>
        {({ ips }) =>
          ips.length === 0 ? (
            <Text>{words.whitelistNone}</Text>
          ) : (
            <Rows
              label={words.whitelist}
              rows={ips}
              keyOf={(row) => row.ip}
              columns={[
                { name: 'ip', label: words.address, show: (row) => <span className="mono">{row.ip}</span> },
                {
                  name: 'used',
                  label: words.lastUsed,
                  show: (row) => (row.last_used_at === null ? words.never : format.moment(row.last_used_at)),
                },
                {
                  name: 'remove',
                  label: words.remove,
                  isUnlabelled: true,
                  show: (row) => (
                    <Button
                      size="compact-sm"
                      variant="default"
                      aria-label={`${words.remove} ${row.ip}`}
                      onClick={() => remove.mutate({ body: { ip: row.ip, subuser_id: subuser } })}
                    >
                      {words.remove}
                    </Button>
                  ),
                },
              ]}
            />
          )
        }
      </Reading>
      <AddAddress
        label={words.address}
        allowed={read.data?.ips.map((each) => each.ip) ?? []}
        isPending={add.isPending}
        onAdd={(ip, onDone) => add.mutate({ body: { ip, subuser_id: subuser } }, { onSuccess: onDone })}
      />
      <RefusalNotice error={add.error ?? remove.error} />
    </Panel>
  )
}

/** The first line of a rotating list, taken apart: what a browser is to be given. */
function UseIt() {
  const body = {
    pool_type: 'residential',
    type: 'rotating',
    quantity: 1,
    format: '{host} {port} {login} {password}',
  } as const
  const made = useRead('generateProxies', { body })
  return (
    <Reading of={made}>
      {({ proxies }) => {
        const [host = '', port = '', login = '', password = ''] = proxies[0]?.split(' ') ?? []
        return <HowTo of={{ host, port: Number(port), login, password, protocol: 'both' }} />
      }}
    </Reading>
  )
}
