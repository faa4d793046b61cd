import {
  Button,
  type ButtonProps,
  Checkbox,
  Modal,
  NativeSelect,
  NumberInput,
  PasswordInput,
  Text,
  TextInput,
} from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Form } from './form.tsx'
import { useWords } from './language.tsx'
import { useOnce } from './once.ts'
import { RefusalNotice } from './refusal-notice.tsx'
import { sharedWords } from './words.ts'

type Value = string | number | boolean
export type Values = Readonly<Record<string, Value>>

/** What is to be said for something to be done. */
export type Field = {
  readonly name: string
  readonly label: string
  readonly kind?: 'text' | 'number' | 'flag' | 'choice' | 'date' | 'secret'
  readonly options?: readonly (readonly [value: string, label: string])[]
  readonly initial?: Value
  readonly isOptional?: boolean
}

type ActProps<Done> = {
  readonly label: string
  readonly about?: ReactNode
  readonly fields?: readonly Field[]
  readonly look?: Pick<ButtonProps, 'variant' | 'color' | 'size'>
  /** The key is the same for every try of one opening: it is done once. */
  readonly run: (values: Values, key: string) => Promise<Done>
  /** What is shown when it is done; without it the form closes. */
  readonly show?: (done: Done) => ReactNode
}

const startOf = ({ kind, initial, options }: Field): Value =>
  initial ?? (kind === 'flag' ? false : kind === 'choice' ? (options?.[0]?.[0] ?? '') : '')

/** A button that asks what has to be known, does one thing, and says how it went. */
export function Act<Done>(props: ActProps<Done>) {
  const shared = useWords(sharedWords)
  const [opened, setOpened] = useState<string>()
  return (
    <>
      <Button variant="default" {...props.look} onClick={() => setOpened(crypto.randomUUID())}>
        {props.label}
      </Button>
      <Modal
        opened={opened !== undefined}
        onClose={() => setOpened(undefined)}
        title={props.label}
        closeButtonProps={{ 'aria-label': shared.close }}
      >
        {opened !== undefined && <Asked {...props} runKey={opened} onClose={() => setOpened(undefined)} />}
      </Modal>
    </>
  )
}

function Asked<Done>({
  label,
  about,
  fields = [],
  look,
  run,
  show,
  runKey,
  onClose,
}: ActProps<Done> & { readonly runKey: string; readonly onClose: () => void }) {
  const queries = useQueryClient()
  const [values, setValues] = useState<Values>(() =>
    Object.fromEntries(fields.map((each) => [each.name, startOf(each)])),
  )
  const doing = useMutation({
    mutationFn: () => run(values, runKey),
    onSuccess: async () => {
      await queries.invalidateQueries()
      if (!show) onClose()
    },
  })
  const start = useOnce(() => doing.mutateAsync())
  if (doing.data !== undefined && show) return <div className="stack">{show(doing.data)}</div>
  const lacks = fields.some((each) => !each.isOptional && values[each.name] === '')
  return (
    <Form className="stack" onSubmit={start}>
      {about !== undefined && <Text c="dimmed">{about}</Text>}
      {fields.map((field) => (
        <Input
          key={field.name}
          field={field}
          value={values[field.name] ?? ''}
          onChange={(value) => setValues({ ...values, [field.name]: value })}
        />
      ))}
      <RefusalNotice error={doing.error} />
      <Button type="submit" disabled={lacks} loading={doing.isPending} {...(look?.color && { color: look.color })}>
        {label}
      </Button>
    </Form>
  )
}

type InputProps = { readonly field: Field; readonly value: Value; readonly onChange: (value: Value) => void }

function Input({ field: { label, kind = 'text', options = [] }, value, onChange }: InputProps) {
  switch (kind) {
    case 'flag':
      return (
        <Checkbox label={label} checked={value === true} onChange={(event) => onChange(event.currentTarget.checked)} />
      )
    case 'number':
      return (
        <NumberInput
          label={label}
          value={Number(value) === 0 && value === '' ? '' : Number(value)}
          onChange={onChange}
        />
      )
    case 'choice':
      return (
        <NativeSelect
          label={label}
          value={String(value)}
          data={options.map(([each, name]) => ({ value: each, label: name }))}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )
    case 'secret':
      return (
        <PasswordInput
          label={label}
          autoComplete="off"
          value={String(value)}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )
    default:
      return (
        <TextInput
          label={label}
          type={kind}
          value={String(value)}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )
  }
}
