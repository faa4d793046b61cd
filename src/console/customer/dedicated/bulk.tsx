import { Button, Modal, NativeSelect, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import type { Proxy } from '../../client/customer.ts'
import { Form } from '../../shared/form.tsx'
import { useFormat } from '../../shared/format.ts'
import { useWords } from '../../shared/language.tsx'
import { RefusalNotice } from '../../shared/refusal-notice.tsx'
import { sharedWords } from '../../shared/words.ts'
import { useChange } from '../api.ts'
import { ExportButton } from './export.tsx'
import { ProlongForm, useProlongPeriods } from './prolong.tsx'
import { dedicatedWords } from './words.ts'

type Task = 'prolong' | 'protocol' | 'autoRenew' | 'comment' | 'passwords'

/** What can be done with several proxies at once. */
export function BulkBar({ picked, onDone }: { readonly picked: readonly Proxy[]; readonly onDone: () => void }) {
  const words = useWords(dedicatedWords)
  const shared = useWords(sharedWords)
  const format = useFormat()
  const [task, setTask] = useState<Task>()
  const ids = picked.map((each) => each.id)
  const close = () => setTask(undefined)
  const finish = () => {
    close()
    onDone()
  }
  const titles: Readonly<Record<Task, string>> = {
    prolong: words.prolong,
    protocol: words.protocol,
    autoRenew: words.autoRenew,
    comment: words.comment,
    passwords: words.newPasswords,
  }
  const forms: Readonly<Record<Task, () => ReactNode>> = {
    prolong: () => <ProlongForm picked={picked} onDone={finish} />,
    protocol: () => <ProtocolForm ids={ids} onDone={finish} />,
    autoRenew: () => <AutoRenewForm picked={picked} onDone={finish} />,
    comment: () => <CommentForm ids={ids} first={picked[0]?.comment ?? ''} onDone={finish} />,
    passwords: () => <PasswordsForm ids={ids} onDone={finish} />,
  }
  return (
    <div className="chosen" role="toolbar" aria-label={words.selected(picked.length, format)}>
      <span>{words.selected(picked.length, format)}</span>
      {(Object.keys(titles) as Task[]).map((each) => (
        <Button key={each} size="xs" variant={each === 'prolong' ? 'filled' : 'default'} onClick={() => setTask(each)}>
          {titles[each]}
        </Button>
      ))}
      <ExportButton label={words.exportTitle} ids={ids} />
      <Modal
        opened={task !== undefined}
        onClose={close}
        title={task && titles[task]}
        closeButtonProps={{ 'aria-label': shared.close }}
      >
        {task && forms[task]()}
      </Modal>
    </div>
  )
}

/** A form of one decision: what it does, its field, and the button. */
function Deciding({
  about,
  change,
  onApply,
  children,
}: {
  readonly about?: string
  readonly change: { readonly isPending: boolean; readonly error: unknown }
  readonly onApply: () => void
  readonly children?: ReactNode
}) {
  const words = useWords(dedicatedWords)
  return (
    <Form className="stack" onSubmit={onApply}>
      {about !== undefined && <Text c="dimmed">{about}</Text>}
      {children}
      <RefusalNotice error={change.error} />
      <Button type="submit" loading={change.isPending}>
        {words.apply}
      </Button>
    </Form>
  )
}

type FormProps = { readonly ids: readonly number[]; readonly onDone: () => void }

export function ProtocolForm({ ids, onDone, first = 'http' }: FormProps & { readonly first?: string }) {
  const words = useWords(dedicatedWords)
  const change = useChange('setProtocol')
  const [chosen, setChosen] = useState(first)
  const port_type = chosen as 'http' | 'socks' | 'both'
  return (
    <Deciding change={change} onApply={() => change.mutate({ body: { ids, port_type } }, { onSuccess: onDone })}>
      <NativeSelect
        label={words.protocol}
        value={chosen}
        data={Object.entries(words.protocols).map(([value, label]) => ({ value, label }))}
        onChange={(event) => setChosen(event.currentTarget.value)}
      />
    </Deciding>
  )
}

export function AutoRenewForm({ picked, onDone }: { readonly picked: readonly Proxy[]; readonly onDone: () => void }) {
  const words = useWords(dedicatedWords)
  const format = useFormat()
  const change = useChange('setAutoRenew')
  const periods = useProlongPeriods(picked)
  const [period, setPeriod] = useState(picked[0]?.auto_renew ?? 0)
  const body = { ids: picked.map((each) => each.id), period: period === 0 ? null : period }
  return (
    <Deciding change={change} onApply={() => change.mutate({ body }, { onSuccess: onDone })}>
      <NativeSelect
        label={words.autoRenew}
        value={String(period)}
        data={[
          { value: '0', label: words.off },
          ...periods.map((each) => ({ value: String(each), label: words.every(words.days(each, format)) })),
        ]}
        onChange={(event) => setPeriod(Number(event.currentTarget.value))}
      />
    </Deciding>
  )
}

export function CommentForm({ ids, first, onDone }: FormProps & { readonly first: string }) {
  const words = useWords(dedicatedWords)
  const change = useChange('setComment')
  const [comment, setComment] = useState(first)
  return (
    <Deciding change={change} onApply={() => change.mutate({ body: { ids, comment } }, { onSuccess: onDone })}>
      <TextInput
        label={words.comment}
        value={comment}
        onChange={(event) => setComment(event.currentTarget.value)}
        data-autofocus
      />
    </Deciding>
  )
}

export function PasswordsForm({ ids, onDone }: FormProps) {
  const words = useWords(dedicatedWords)
  const change = useChange('resetPasswords')
  return (
    <Deciding
      about={words.newPasswordsAbout}
      change={change}
      onApply={() => change.mutate({ body: { ids } }, { onSuccess: onDone })}
    />
  )
}
