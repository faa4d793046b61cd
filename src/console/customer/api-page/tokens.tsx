import { Button, Checkbox, Modal, NumberInput, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Token } from '../../client/customer.ts'
import { Listing } from '../../shared/copy.tsx'
import { Form, useTyped } from '../../shared/form.tsx'
import { useFormat } from '../../shared/format.ts'
import { Icon } from '../../shared/icons.tsx'
import { useWords } from '../../shared/language.tsx'
import { useNow } from '../../shared/now.ts'
import { Empty, Panel, Reading } from '../../shared/parts.tsx'
import { RefusalNotice } from '../../shared/refusal-notice.tsx'
import { Rows } from '../../shared/rows.tsx'
import { sharedWords } from '../../shared/words.ts'
import { useChange, useRead } from '../api.ts'
import { apiWords } from './words.ts'

type Made = { readonly onMade: (token: string) => void }

/** What lets programs act for the customer. */
export function Tokens({ onMade }: Made) {
  const words = useWords(apiWords)
  const shared = useWords(sharedWords)
  const tokens = useRead('listTokens')
  const [isOpen, setOpen] = useState(false)
  const [made, setMade] = useState<string>()
  const keep = (token: string) => {
    setMade(token)
    onMade(token)
    setOpen(false)
  }
  return (
    <Panel
      title={words.tokens}
      className="stack"
      aside={
        <Button size="xs" leftSection={<Icon name="plus" size={15} />} onClick={() => setOpen(true)}>
          {words.create}
        </Button>
      }
    >
      <Text c="dimmed">{words.tokensAbout}</Text>
      {made !== undefined && (
        <div className="notice good stack" role="status">
          <div>
            <Text fw={600}>{words.made}</Text>
            <Text size="sm">{words.madeAbout}</Text>
          </div>
          <Listing text={made} label={words.made} />
        </div>
      )}
      <Reading of={tokens}>
        {({ tokens: all }) =>
          all.length === 0 ? (
            <Empty icon="code" title={words.noTokens} about={words.noTokensAbout} />
          ) : (
            <Listed all={all} />
          )
        }
      </Reading>
      <Modal
        opened={isOpen}
        onClose={() => setOpen(false)}
        title={words.create}
        closeButtonProps={{ 'aria-label': shared.close }}
      >
        <CreateForm onMade={keep} />
      </Modal>
    </Panel>
  )
}

function Listed({ all }: { readonly all: readonly Token[] }) {
  const words = useWords(apiWords)
  const format = useFormat()
  const nowAt = useNow()
  const revoke = useChange('revokeToken')
  const limits = (token: Token): string =>
    [
      token.scopes.map((each) => words.scopeNames[each] ?? each).join(', '),
      token.cap_rub === null ? words.noCap : format.money(token.cap_rub),
      token.from.length === 0 ? words.anywhere : token.from.join(', '),
    ].join(' · ')
  return (
    <>
      <Rows
        label={words.tokens}
        rows={all}
        keyOf={(row) => row.token_id}
        columns={[
          {
            name: 'name',
            label: words.name,
            isText: true,
            show: (row) => (
              <span>
                {row.name}
                <small>{limits(row)}</small>
              </span>
            ),
          },
          { name: 'begins', label: words.begins, show: (row) => <span className="mono">{row.begins}…</span> },
          {
            name: 'used',
            label: words.used,
            show: (row) => (
              <span>
                {row.used_at === null ? words.neverUsed : format.away(row.used_at, nowAt)}
                {row.used_from !== null && <small>{row.used_from}</small>}
              </span>
            ),
          },
          {
            name: 'expires',
            label: words.expires,
            show: (row) => (row.expires_at === null ? words.never : format.day(row.expires_at)),
          },
          {
            name: 'revoke',
            label: words.revoke,
            isUnlabelled: true,
            show: (row) =>
              row.revoked_at === null ? (
                <Button
                  size="compact-sm"
                  variant="default"
                  aria-label={`${words.revoke} ${row.name}`}
                  onClick={() => revoke.mutate({ body: { token_id: row.token_id } })}
                >
                  {words.revoke}
                </Button>
              ) : (
                words.revoked
              ),
          },
        ]}
      />
      <RefusalNotice error={revoke.error} />
    </>
  )
}

function CreateForm({ onMade }: Made) {
  const words = useWords(apiWords)
  const create = useChange('createToken')
  const name = useTyped()
  const [isTrader, setTrader] = useState(true)
  const [isPayer, setPayer] = useState(false)
  const [seesPasswords, setSeesPasswords] = useState(false)
  const [cap, setCap] = useState<number | string>('')
  const from = useTyped()
  const until = useTyped()
  const addresses = from.value.split(/[\s,]+/).filter((each) => each !== '')
  const body = {
    ...(name.text !== '' && { name: name.text }),
    scopes: [
      'read',
      ...(isTrader ? (['trade'] as const) : []),
      ...(isPayer ? (['pay'] as const) : []),
      ...(seesPasswords ? (['passwords'] as const) : []),
    ] as const,
    ...(cap !== '' && { cap_rub: Number(cap) }),
    ...(addresses.length > 0 && { from: addresses }),
    ...(until.value !== '' && { expires_at: new Date(until.value).toISOString() }),
  }
  return (
    <Form className="stack" onSubmit={() => create.mutate({ body }, { onSuccess: ({ token }) => onMade(token) })}>
      <TextInput label={words.name} placeholder={words.nameHint} data-autofocus {...name.props} />
      <Checkbox
        label={words.trade}
        description={words.tradeAbout}
        checked={isTrader}
        onChange={(event) => setTrader(event.currentTarget.checked)}
      />
      <Checkbox
        label={words.pay}
        description={words.payAbout}
        checked={isPayer}
        onChange={(event) => setPayer(event.currentTarget.checked)}
      />
      <Checkbox
        label={words.passwords}
        description={words.passwordsAbout}
        checked={seesPasswords}
        onChange={(event) => setSeesPasswords(event.currentTarget.checked)}
      />
      <NumberInput
        label={words.cap}
        placeholder={words.capHint}
        value={cap}
        min={0}
        decimalScale={2}
        allowNegative={false}
        onChange={setCap}
      />
      <TextInput label={words.from} placeholder={words.fromHint} {...from.props} />
      <TextInput type="date" label={words.expires} {...until.props} />
      <RefusalNotice error={create.error} />
      <Button type="submit" loading={create.isPending}>
        {words.create}
      </Button>
    </Form>
  )
}
