import { Button, type ButtonProps, NumberInput, PasswordInput, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ChangeEvent, type ReactNode, useId, useRef, useState } from 'react'
import { CallLost } from '../client/call.ts'
import { Dialog } from './dialog.tsx'
import { Flag, type Options, Select, Several, SubmitForm } from './form.tsx'
import { RefusalNotice } from './parts.tsx'
import { refresh, useOnce } from './queries.ts'

type Value = string | number | boolean
export type Values = Readonly<Record<string, Value>>

export type ActField = {
  readonly name: string
  readonly label: string
  readonly kind?: 'text' | 'number' | 'flag' | 'choice' | 'several' | 'date' | 'secret'
  /** Of a choice, or of `several`, whose value is the chosen ones with commas. */
  readonly options?: Options<string>
  readonly initial?: Value
  readonly isOptional?: boolean
  /** Help under the label. */
  readonly about?: string
  /** Whether the field is shown, by the other values; a hidden one is not required. */
  readonly isShown?: (values: Values) => boolean
}

/** The fields that were filled in, as texts: an empty one is not sent. */
export const filled = <Name extends string>(values: Readonly<Record<Name, Value | undefined>>) =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === '' ? [] : [[name, String(value)]])),
  ) as { readonly [Each in Name]?: string }

export type ActProps<Done> = {
  readonly label: string
  /** The title of the form, if the label does not say enough. */
  readonly title?: string
  /** The text of the button that runs the operation, if the label is not a verb. */
  readonly submit?: string
  readonly about?: ReactNode
  readonly fields?: readonly ActField[]
  readonly look?: Pick<ButtonProps, 'variant' | 'color' | 'size'>
  /** The idempotency key stays the same until the form is closed, and after it if the answer was lost. */
  readonly run: (values: Values, key: string) => Promise<Done>
  /** Shown when it is done; without it the form closes. */
  readonly show?: (done: Done) => ReactNode
  /** Asks the shop for the outcome while the form is filled in, and shows it. The button waits for it. */
  readonly preview?: { readonly load: (values: Values) => Promise<Done>; readonly show: (would: Done) => ReactNode }
}

const startOf = ({ kind, initial, options }: ActField): Value =>
  initial ?? (kind === 'flag' ? false : kind === 'choice' ? (options?.[0]?.[0] ?? '') : '')

/** A button that opens a form of `fields`, runs one operation, and shows its outcome. */
export function Act<Done>(props: ActProps<Done>) {
  const [opened, setOpened] = useState<string>()
  const lostKey = useRef<string>(undefined)
  const close = () => setOpened(undefined)
  const onEnd = (isLost: boolean) => {
    lostKey.current = isLost ? opened : undefined
  }
  return (
    <>
      <Button variant="default" {...props.look} onClick={() => setOpened(lostKey.current ?? crypto.randomUUID())}>
        {props.label}
      </Button>
      <Dialog opened={opened !== undefined} onClose={close} title={props.title ?? props.label}>
        {opened !== undefined && <ActForm {...props} runKey={opened} onEnd={onEnd} onClose={close} />}
      </Dialog>
    </>
  )
}

type ActFormProps<Done> = ActProps<Done> & {
  readonly runKey: string
  /** Whether the answer of a run was lost: the next form must use the same key. */
  readonly onEnd: (isLost: boolean) => void
  readonly onClose: () => void
}

function ActForm<Done>(props: ActFormProps<Done>) {
  const { label, submit = label, about, fields = [], look, run, show, runKey, onEnd, onClose } = props
  const queries = useQueryClient()
  const [values, setValues] = useState<Values>(() =>
    Object.fromEntries(fields.map((each) => [each.name, startOf(each)])),
  )
  const change = useMutation({
    mutationFn: () => run(values, runKey),
    onSuccess: async () => {
      await refresh(queries)
      if (!show) onClose()
    },
    onMutate: () => onEnd(true),
    onSettled: (_, error) => onEnd(error instanceof CallLost),
  })
  const start = useOnce(() => change.mutateAsync())
  const shown = fields.filter((each) => each.isShown?.(values) ?? true)
  const isComplete = shown.every((each) => each.isOptional || values[each.name] !== '')
  const isOpen = isComplete && !change.isPending && !change.isSuccess
  const would = usePreview(props.preview?.load, values, isOpen)
  if (change.data !== undefined && show) return <div className="stack">{show(change.data)}</div>
  return (
    <SubmitForm
      label={submit}
      change={change}
      isReady={isComplete && (!props.preview || would.isCurrent || change.isPending)}
      look={look?.color ? { color: look.color } : {}}
      onSubmit={start}
    >
      {about !== undefined && <Text c="dimmed">{about}</Text>}
      {shown.map((field) => (
        <Input
          key={field.name}
          field={field}
          value={values[field.name] ?? ''}
          onChange={(value) => setValues({ ...values, [field.name]: value })}
        />
      ))}
      {props.preview && isComplete && would.error === null && (
        <div role="status" className="notice good">
          {would.data === undefined ? '…' : props.preview.show(would.data)}
        </div>
      )}
      {isComplete && <RefusalNotice error={would.error} />}
    </SubmitForm>
  )
}

const previewAfterMs = 300

/** The outcome that the shop expects for these values, a moment after the last change. */
function usePreview<Done>(load: ((values: Values) => Promise<Done>) | undefined, values: Values, isWanted: boolean) {
  const [settled] = useDebouncedValue(values, previewAfterMs)
  const isSettled = settled === values
  const found = useQuery({
    queryKey: ['preview', useId(), settled],
    queryFn: () => load?.(settled),
    enabled: load !== undefined && isWanted && isSettled,
    retry: false,
    gcTime: 0,
  })
  return { data: found.data, error: isSettled ? found.error : null, isCurrent: isSettled && found.isSuccess }
}

type InputProps = { readonly field: ActField; readonly value: Value; readonly onChange: (value: Value) => void }

function Input({ field: { label, about, kind = 'text', options = [] }, value, onChange }: InputProps) {
  const typed = {
    label,
    description: about,
    value: String(value),
    onChange: (event: ChangeEvent<HTMLInputElement>) => onChange(event.currentTarget.value),
  }
  switch (kind) {
    case 'flag':
      return <Flag label={label} checked={value === true} onChange={onChange} />
    case 'number':
      return <NumberInput label={label} value={value === '' ? '' : Number(value)} onChange={onChange} />
    case 'choice':
      return <Select label={label} value={String(value)} options={options} onChange={onChange} />
    case 'several':
      return <Several label={label} value={String(value)} options={options} onChange={onChange} />
    case 'secret':
      return <PasswordInput autoComplete="off" {...typed} />
    default:
      return <TextInput type={kind} {...typed} />
  }
}
