import { Button, Progress, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useRef, useState } from 'react'
import type { Proxy } from '../../client/customer.ts'
import { download } from '../../shared/browser.ts'
import { Copy, Lines } from '../../shared/copy.tsx'
import { Dialog } from '../../shared/dialog.tsx'
import { Choices, Confirm, Select, SubmitForm, useTyped } from '../../shared/form.tsx'
import { Icon } from '../../shared/icons.tsx'
import { useMessages } from '../../shared/messages.tsx'
import { Facts, Hint, Outcome, Reading, RefusalNotice } from '../../shared/parts.tsx'
import { clearRefusals, refresh, useOnce } from '../../shared/queries.ts'
import { offerUndo } from '../../shared/undo.tsx'
import { api, usePurchase } from '../api.ts'
import { joinExports, maxBatch, maxUrlBatch, sendBatches, sumRoubles, toBatches } from './batches.ts'
import { CheckMany } from './check.tsx'
import { dedicatedMessages } from './messages.ts'
import { useProlongPeriods, useProlongQuote, usualPeriod } from './prolong-quote.ts'

type Task = 'prolong' | 'replace' | 'check' | 'protocol' | 'autoRenew' | 'comment' | 'passwords'
type PickedProps = { readonly picked: readonly Proxy[]; readonly onDone: () => void }

export function BulkBar({ picked, onDone }: PickedProps) {
  const { t, format } = useMessages(dedicatedMessages)
  const [task, setTask] = useState<Task>()
  const ids = picked.map((each) => each.id)
  const close = () => setTask(undefined)
  const finish = () => {
    close()
    onDone()
  }
  const tasks: Readonly<Record<Task, readonly [title: string, show: () => ReactNode]>> = {
    prolong: [t.prolong, () => <ProlongForm picked={picked} onDone={finish} />],
    replace: [t.replace, () => <ReplaceForm picked={picked} onDone={finish} />],
    check: [t.check, () => <CheckMany picked={picked} />],
    protocol: [t.protocol, () => <ProtocolForm picked={picked} onDone={finish} />],
    autoRenew: [t.autoRenew, () => <AutoRenewForm picked={picked} onDone={finish} />],
    comment: [t.comment, () => <CommentForm picked={picked} onDone={finish} />],
    passwords: [
      picked.length === 1 ? t.newPassword : t.newPasswords,
      () => <PasswordsForm ids={ids} onDone={finish} />,
    ],
  }
  return (
    <div className="chosen" role="toolbar" aria-label={t.selected(picked.length, format)}>
      <span>{t.selected(picked.length, format)}</span>
      {(Object.keys(tasks) as Task[]).map((each) => (
        <Button key={each} size="xs" variant={each === 'prolong' ? 'filled' : 'default'} onClick={() => setTask(each)}>
          {tasks[each][0]}
        </Button>
      ))}
      <ExportButton label={t.exportTitle} ids={ids} />
      <Dialog opened={task !== undefined} onClose={close} title={task && tasks[task][0]}>
        {task && tasks[task][1]()}
      </Dialog>
    </div>
  )
}

type FormProps = { readonly ids: readonly number[]; readonly onDone: () => void }

/**
 * One action on many proxies, in requests of at most `size`. Proxies whose request was answered are remembered: a
 * repeat after a failure continues with the others. When none is left, `onDone` is called, unless `WhenLeft` shows the
 * result of several requests first.
 */
function useBatches<Answer>(
  ids: readonly number[],
  send: (batch: readonly number[]) => Promise<Answer>,
  {
    size = maxBatch,
    onDone,
    onAll,
  }: { readonly size?: number; readonly onDone?: () => void; readonly onAll?: () => void } = {},
) {
  const queries = useQueryClient()
  const [sent, setSent] = useState<readonly { readonly ids: readonly number[]; readonly answer: Answer }[]>([])
  const done = new Set(sent.flatMap((each) => each.ids))
  const left = ids.filter((id) => !done.has(id))
  const change = useMutation({
    mutationFn: () =>
      sendBatches(toBatches(left, size), {
        send,
        onSent: (batch, answer) => setSent((before) => [...before, { ids: batch, answer }]),
      }),
    onSuccess: clearRefusals,
    onSettled: () => refresh(queries),
  })
  const run = useOnce(async () => {
    await change.mutateAsync()
    onAll?.()
    if (ids.length <= size) onDone?.()
  })
  const answers = sent.map((each) => each.answer)
  return { change, run, left, answers, doneCount: done.size, count: ids.length, isSeveral: ids.length > size }
}

type BatchProgressProps = { readonly of: Omit<ReturnType<typeof useBatches>, 'answers'> }

/** The progress of an action of several requests, and after a failure what was done and what is left. */
function BatchProgress({ of: { change, doneCount, count, left, isSeveral } }: BatchProgressProps) {
  const { t, format } = useMessages(dedicatedMessages)
  if (!isSeveral || (doneCount === 0 && !change.isPending)) return null
  const text = t.progress(format.number(doneCount), format.number(count))
  return (
    <div className="stack tight">
      <Progress value={(doneCount / count) * 100} aria-label={text} />
      <Text size="sm" role="status">
        {change.error === null ? text : `${text} ${t.leftOver(format.number(left.length))}`}
      </Text>
    </div>
  )
}

type WhenLeftProps = BatchProgressProps & { readonly onDone: () => void; readonly children: ReactNode }

/** The form, and after an action of several requests how many proxies were changed. */
function WhenLeft({ of: { change, count, isSeveral }, onDone, children }: WhenLeftProps) {
  const { t, format } = useMessages(dedicatedMessages)
  if (!isSeveral || !change.isSuccess) return children
  return (
    <Outcome title={t.allDone(t.shown(count, format))}>
      <Button onClick={onDone}>{t.close}</Button>
    </Outcome>
  )
}

const idsOf = (picked: readonly Proxy[]): readonly number[] => picked.map((each) => each.id)

/** Offers to set the values from before a change again, with one series of requests for each of them. */
function useUndo<Value>(
  name: string,
  picked: readonly Proxy[],
  valueOf: (proxy: Proxy) => Value,
  send: (batch: readonly number[], value: Value) => Promise<unknown>,
) {
  const { t, format } = useMessages(dedicatedMessages)
  return () => {
    const undo = async () => {
      for (const [value, same] of Map.groupBy(picked, valueOf)) {
        await sendBatches(toBatches(idsOf(same), maxBatch), { send: (batch) => send(batch, value), onSent: () => {} })
      }
    }
    offerUndo({ text: t.changed(name, t.shown(picked.length, format)), undo })
  }
}

export function ProtocolForm({ picked, onDone }: PickedProps) {
  const { t } = useMessages(dedicatedMessages)
  const [port_type, setProtocol] = useState(picked[0]?.port_type ?? 'http')
  const send = (batch: readonly number[], type = port_type) =>
    api.call('setProtocol', { body: { ids: batch, port_type: type } })
  const onAll = useUndo(t.protocol, picked, (each) => each.port_type, send)
  const batches = useBatches(idsOf(picked), (batch) => send(batch), { onDone, onAll })
  const options = Object.entries(t.protocols) as [Proxy['port_type'], string][]
  return (
    <WhenLeft of={batches} onDone={onDone}>
      <SubmitForm label={t.apply} change={batches.change} onSubmit={batches.run}>
        <Select label={t.protocol} value={port_type} options={options} onChange={setProtocol} />
        <BatchProgress of={batches} />
      </SubmitForm>
    </WhenLeft>
  )
}

export function AutoRenewForm({ picked, onDone }: PickedProps) {
  const { t, format } = useMessages(dedicatedMessages)
  const periods = useProlongPeriods(picked)
  const [chosen, setPeriod] = useState(picked[0]?.auto_renew ?? 0)
  const ids = idsOf(picked)
  const send = (batch: readonly number[], period: number | null) =>
    api.call('setAutoRenew', { body: { ids: batch, period } })
  const onAll = useUndo(t.autoRenew, picked, (each) => each.auto_renew, send)
  const batches = useBatches(ids, (batch) => send(batch, chosen === 0 ? null : chosen), { onDone, onAll })
  const options = periods.map((each) => [String(each), t.days(each, format)] as const)
  const quote = useProlongQuote(ids, chosen)
  return (
    <WhenLeft of={batches} onDone={onDone}>
      <SubmitForm label={t.apply} change={batches.change} onSubmit={batches.run}>
        <Select
          label={t.renewBy}
          value={String(chosen)}
          options={[['0', t.renewNot], ...options]}
          onChange={(value) => setPeriod(Number(value))}
        />
        {chosen > 0 && (
          <Reading of={quote} height={24}>
            {({ total }) => <Hint>{t.renewPrice(t.days(chosen, format), format.money(total))}</Hint>}
          </Reading>
        )}
        <BatchProgress of={batches} />
      </SubmitForm>
    </WhenLeft>
  )
}

/** Replaces the address of each proxy, one after another; after a refusal it continues where it stopped. */
export function ReplaceForm({ picked, onDone }: PickedProps) {
  const { t } = useMessages(dedicatedMessages)
  const { send } = usePurchase('replaceProxy', { isKept: false })
  const ids = picked.map((each) => each.id)
  const batches = useBatches(ids, ([id = 0]) => send({ id }), { size: 1, onDone })
  return (
    <WhenLeft of={batches} onDone={onDone}>
      <div className="stack">
        <BatchProgress of={batches} />
        <Confirm about={t.replaceAbout} label={t.replace} change={batches.change} onConfirm={batches.run} />
      </div>
    </WhenLeft>
  )
}

export function CommentForm({ picked, onDone }: PickedProps) {
  const { t } = useMessages(dedicatedMessages)
  const { value, props } = useTyped(picked[0]?.comment ?? '')
  const send = (batch: readonly number[], comment = value) => api.call('setComment', { body: { ids: batch, comment } })
  const onAll = useUndo(t.comment, picked, (each) => each.comment, send)
  const batches = useBatches(idsOf(picked), (batch) => send(batch), { onDone, onAll })
  return (
    <WhenLeft of={batches} onDone={onDone}>
      <SubmitForm label={t.apply} change={batches.change} onSubmit={batches.run}>
        <TextInput label={t.comment} {...props} data-autofocus />
        <BatchProgress of={batches} />
      </SubmitForm>
    </WhenLeft>
  )
}

export function PasswordsForm({ ids, onDone }: FormProps) {
  const { t } = useMessages(dedicatedMessages)
  const batches = useBatches(ids, (batch) => api.call('resetPasswords', { body: { ids: batch } }), { onDone })
  return (
    <WhenLeft of={batches} onDone={onDone}>
      <SubmitForm label={t.apply} change={batches.change} onSubmit={batches.run}>
        <Text c="dimmed">{ids.length === 1 ? t.newPasswordAbout : t.newPasswordsAbout}</Text>
        <BatchProgress of={batches} />
      </SubmitForm>
    </WhenLeft>
  )
}

/**
 * Prolongs proxies for one shown price. Each request prolongs all of its proxies or none, under its own idempotency
 * key and at most for its quoted price. After a refusal the form offers the price of those that are left.
 */
export function ProlongForm({ picked, onDone }: PickedProps) {
  const { t, format } = useMessages(dedicatedMessages)
  const periods = useProlongPeriods(picked)
  const [chosen, setChosen] = useState(usualPeriod)
  const period = periods.includes(chosen) ? chosen : (periods[0] ?? 0)
  const purchase = usePurchase('prolongDedicated')
  const prices = useRef<ReadonlyMap<number | undefined, number>>(new Map())
  const ids = picked.map((each) => each.id)
  const batches = useBatches(ids, (batch) =>
    purchase.send({ ids: batch, period, max_price_rub: prices.current.get(batch[0]) }),
  )
  const { change, answers, left, doneCount } = batches
  const quote = useProlongQuote(left, period, !change.isPending)
  const isCurrent = quote.data?.period === period && !quote.isPlaceholderData
  const charged = sumRoubles(answers.map((each) => each.price_rub))
  const prolong = () => {
    prices.current = quote.data?.prices ?? new Map()
    batches.run()
  }
  if (change.isSuccess) {
    return (
      <Outcome title={t.prolonged(t.shown(doneCount, format), format.money(charged))}>
        <Button onClick={onDone}>{t.close}</Button>
      </Outcome>
    )
  }
  return (
    <div className="stack">
      <Text c="dimmed">{t.prolongAbout}</Text>
      <Choices
        isNarrow
        legend={t.period}
        value={period}
        options={periods.map((value) => ({ value, label: t.days(value, format) }))}
        onChange={setChosen}
      />
      <Reading of={quote} height={48}>
        {({ total, first }) => (
          <Facts
            of={[
              [t.price, <strong>{format.money(total)}</strong>],
              doneCount > 0 && [t.charged, format.money(charged)],
              picked.length === 1 && first !== undefined && [t.until, format.moment(first.expires_at)],
            ]}
          />
        )}
      </Reading>
      <BatchProgress of={batches} />
      <RefusalNotice error={change.error} />
      <Button disabled={!isCurrent} loading={change.isPending} onClick={prolong}>
        {isCurrent ? t.prolongFor(format.money(quote.data?.total ?? 0)) : t.prolong}
      </Button>
    </div>
  )
}

const exportForms = ['1', '2', '3', '4', 'https', 'csv', 'json'] as const
type ExportForm = (typeof exportForms)[number]

const isFile = (form: ExportForm): form is 'csv' | 'json' => form === 'csv' || form === 'json'

function toQuery(form: ExportForm) {
  if (isFile(form)) return { format: form }
  if (form === 'https') return { format: 'txt', format_id: 4, protocol: form } as const
  return { format: 'txt', format_id: Number(form) as 1 | 2 | 3 | 4 } as const
}

/** Proxies as a file or on the clipboard: those of `ids`, or all. */
export function ExportButton({ label, ids }: { readonly label: string; readonly ids?: readonly number[] }) {
  const { t } = useMessages(dedicatedMessages)
  const [isOpen, setOpen] = useState(false)
  const [form, setForm] = useState<ExportForm>('1')
  const [doneCount, setDoneCount] = useState(0)
  const made = useMutation({
    mutationFn: async (chosen: ExportForm) => {
      const batches = ids === undefined ? [undefined] : toBatches(ids, maxUrlBatch)
      const parts: string[] = []
      setDoneCount(0)
      for (const batch of batches) {
        parts.push(await api.read('exportDedicated', { query: { ...toQuery(chosen), ids: batch?.join(',') } }))
        setDoneCount((before) => before + (batch?.length ?? 0))
      }
      return joinExports(isFile(chosen) ? chosen : 'txt', parts)
    },
  })
  const choose = (chosen: ExportForm) => {
    setForm(chosen)
    made.mutate(chosen)
  }
  const open = () => {
    setOpen(true)
    made.mutate(form)
  }
  const ending = isFile(form) ? form : 'txt'
  const text = made.data ?? ''
  return (
    <>
      <Button variant="default" leftSection={<Icon name="download" />} onClick={open}>
        {label}
      </Button>
      <Dialog opened={isOpen} onClose={() => setOpen(false)} title={t.exportTitle} size="lg">
        <div className="stack">
          <Select
            label={t.format}
            value={form}
            options={exportForms.map((each) => [each, t.formats[each] ?? ''] as const)}
            onChange={choose}
          />
          {made.isPending && ids !== undefined && ids.length > maxUrlBatch && (
            <Progress value={(doneCount / ids.length) * 100} aria-label={t.exportTitle} />
          )}
          <Lines text={text} label={t.exportTitle} />
          <RefusalNotice error={made.error} />
          <div className="line">
            <Button disabled={text === ''} onClick={() => download(`proxies.${ending}`, text)}>
              {t.download}
            </Button>
            <Copy text={text} />
          </div>
        </div>
      </Dialog>
    </>
  )
}
