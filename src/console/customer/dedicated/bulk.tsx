import { Button, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { isRecord } from '../../client/call.ts'
import type { Proxy } from '../../client/customer.ts'
import { download } from '../../shared/browser.ts'
import { Copy, Lines } from '../../shared/copy.tsx'
import { Choices, Confirm, Dialog, Select, SubmitForm, useTyped } from '../../shared/form.tsx'
import { Icon } from '../../shared/icons.tsx'
import { useMessages } from '../../shared/messages.tsx'
import { Facts, Hint, Reading, RefusalNotice } from '../../shared/parts.tsx'
import { refresh, useOnce } from '../../shared/queries.ts'
import { api, useChange, usePurchase, useRead } from '../api.ts'
import { dedicatedMessages } from './messages.ts'

type Task = 'prolong' | 'replace' | 'protocol' | 'autoRenew' | 'comment' | 'passwords'
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
    protocol: [t.protocol, () => <ProtocolForm ids={ids} onDone={finish} />],
    autoRenew: [t.autoRenew, () => <AutoRenewForm picked={picked} onDone={finish} />],
    comment: [t.comment, () => <CommentForm ids={ids} first={picked[0]?.comment ?? ''} onDone={finish} />],
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

export function ProtocolForm({ ids, onDone, first = 'http' }: FormProps & { readonly first?: Proxy['port_type'] }) {
  const { t } = useMessages(dedicatedMessages)
  const change = useChange('setProtocol', onDone)
  const [port_type, setProtocol] = useState(first)
  const options = Object.entries(t.protocols) as [Proxy['port_type'], string][]
  return (
    <SubmitForm label={t.apply} change={change} onSubmit={() => change.mutate({ body: { ids, port_type } })}>
      <Select label={t.protocol} value={port_type} options={options} onChange={setProtocol} />
    </SubmitForm>
  )
}

export function AutoRenewForm({ picked, onDone }: PickedProps) {
  const { t, format } = useMessages(dedicatedMessages)
  const change = useChange('setAutoRenew', onDone)
  const periods = useProlongPeriods(picked)
  const [period, setPeriod] = useState(picked[0]?.auto_renew ?? 0)
  const body = { ids: picked.map((each) => each.id), period: period === 0 ? null : period }
  const options = periods.map((each) => [String(each), t.days(each, format)] as const)
  const quote = useProlongQuote(picked, period)
  return (
    <SubmitForm label={t.apply} change={change} onSubmit={() => change.mutate({ body })}>
      <Select
        label={t.renewBy}
        value={String(period)}
        options={[['0', t.renewNot], ...options]}
        onChange={(value) => setPeriod(Number(value))}
      />
      {period > 0 && (
        <Reading of={quote} height={24}>
          {(price) => <Hint>{t.renewPrice(t.days(period, format), format.money(price.total_price_rub))}</Hint>}
        </Reading>
      )}
    </SubmitForm>
  )
}

/** Replaces the address of each proxy, one after another; after a refusal it continues where it stopped. */
export function ReplaceForm({ picked, onDone }: PickedProps) {
  const { t, format } = useMessages(dedicatedMessages)
  const queries = useQueryClient()
  const [replaced, setReplaced] = useState<ReadonlySet<number>>(new Set())
  const { send } = usePurchase('replaceProxy', { isKept: false })
  const change = useMutation({
    mutationFn: async () => {
      for (const { id } of picked.filter((each) => !replaced.has(each.id))) {
        await send({ id })
        setReplaced((before) => new Set([...before, id]))
      }
    },
    onSettled: () => refresh(queries),
  })
  const replace = useOnce(async () => {
    await change.mutateAsync()
    onDone()
  })
  const count = picked.length > 1 ? `${format.number(replaced.size)} / ${format.number(picked.length)}. ` : ''
  return <Confirm about={`${count}${t.replaceAbout}`} label={t.replace} change={change} onConfirm={replace} />
}

export function CommentForm({ ids, first, onDone }: FormProps & { readonly first: string }) {
  const { t } = useMessages(dedicatedMessages)
  const change = useChange('setComment', onDone)
  const { value: comment, props } = useTyped(first)
  return (
    <SubmitForm label={t.apply} change={change} onSubmit={() => change.mutate({ body: { ids, comment } })}>
      <TextInput label={t.comment} {...props} data-autofocus />
    </SubmitForm>
  )
}

export function PasswordsForm({ ids, onDone }: FormProps) {
  const { t } = useMessages(dedicatedMessages)
  const change = useChange('resetPasswords', onDone)
  return (
    <SubmitForm label={t.apply} change={change} onSubmit={() => change.mutate({ body: { ids } })}>
      <Text c="dimmed">{ids.length === 1 ? t.newPasswordAbout : t.newPasswordsAbout}</Text>
    </SubmitForm>
  )
}

function useProlongPeriods(picked: readonly Proxy[]): readonly number[] {
  const ipv = (picked[0]?.ipv ?? 4) as 3 | 4 | 6
  return useRead('listCountries', { query: { ipv } }).data?.prolong_periods ?? []
}

function useProlongQuote(picked: readonly Proxy[], period: number) {
  const ids = picked.map((each) => each.id).join(',')
  return useRead('quoteProlonging', { query: { ids, period } }, { isWanted: period > 0 && ids !== '' })
}

const usualPeriod = 30

/** The price to prolong all of them by the term that the form offers first; undefined until it is known. */
export function useUsualPrice(picked: readonly Proxy[]): number | undefined {
  const periods = useProlongPeriods(picked)
  const period = periods.includes(usualPeriod) ? usualPeriod : (periods[0] ?? 0)
  const quote = useProlongQuote(picked, period)
  return quote.isPlaceholderData ? undefined : quote.data?.total_price_rub
}

/** Prolongs all of them for one price, or none. */
export function ProlongForm({ picked, onDone }: PickedProps) {
  const { t, format } = useMessages(dedicatedMessages)
  const periods = useProlongPeriods(picked)
  const [chosen, setChosen] = useState(usualPeriod)
  const period = periods.includes(chosen) ? chosen : (periods[0] ?? 0)
  const ids = picked.map((each) => each.id)
  const quote = useProlongQuote(picked, period)
  const purchase = usePurchase('prolongDedicated')
  const isCurrent = quote.data?.period === period && !quote.isPlaceholderData
  const [first] = quote.data?.items ?? []
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
        {(price) => (
          <Facts
            of={[
              [t.price, <strong>{format.money(price.total_price_rub)}</strong>],
              picked.length === 1 && first !== undefined && [t.until, format.moment(first.expires_at)],
            ]}
          />
        )}
      </Reading>
      <RefusalNotice error={purchase.error} />
      <Button disabled={!isCurrent} loading={purchase.isPending} onClick={() => purchase.buy({ ids, period }, onDone)}>
        {isCurrent ? t.prolongFor(format.money(quote.data?.total_price_rub ?? 0)) : t.prolong}
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

function pretty(text: string): string {
  const answer: unknown = JSON.parse(text)
  return JSON.stringify(isRecord(answer) ? answer['data'] : answer, null, 2)
}

/** Proxies as a file or on the clipboard: those of `ids`, or all. */
export function ExportButton({ label, ids }: { readonly label: string; readonly ids?: readonly number[] }) {
  const { t } = useMessages(dedicatedMessages)
  const [isOpen, setOpen] = useState(false)
  const [form, setForm] = useState<ExportForm>('1')
  const made = useMutation({
    mutationFn: (chosen: ExportForm) =>
      api.read('exportDedicated', { query: { ...toQuery(chosen), ids: ids?.join(',') } }),
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
  const text = made.data === undefined ? '' : ending === 'json' ? pretty(made.data) : made.data
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
