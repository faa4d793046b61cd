import {
  Button,
  type ButtonProps,
  Checkbox,
  type CheckboxProps,
  NativeSelect,
  type NativeSelectProps,
  Text,
} from '@mantine/core'
import { type ChangeEvent, type ReactNode, useId, useState } from 'react'
import { RefusalNotice } from './parts.tsx'

type FormProps = { readonly onSubmit: () => void; readonly className?: string; readonly children: ReactNode }

/** A form without the browser's own validation: the shop's refusals are shown, in the page's language. */
export const Form = ({ onSubmit, className = '', children }: FormProps) => (
  <form
    className={className}
    noValidate
    onSubmit={(event) => {
      event.preventDefault()
      onSubmit()
    }}
  >
    {children}
  </form>
)

/** A field's text: `props` go to the input, `text` is trimmed. */
export function useTyped(initial = '') {
  const [value, set] = useState(initial)
  const onChange = (event: ChangeEvent<HTMLInputElement>): void => set(event.currentTarget.value)
  return { value, set, text: value.trim(), props: { value, onChange } }
}

/** The part of a mutation that a form shows. */
type Changing = { readonly isPending: boolean; readonly error: unknown }

type SubmitFormProps = FormProps & {
  readonly label: string
  readonly change?: Changing
  readonly isReady?: boolean
  readonly look?: ButtonProps
}

export const SubmitForm = ({ label, change, isReady = true, look, children, ...form }: SubmitFormProps) => (
  <Form className="stack" {...form}>
    {children}
    <RefusalNotice error={change?.error} />
    <Button type="submit" loading={change?.isPending ?? false} disabled={!isReady} {...look}>
      {label}
    </Button>
  </Form>
)

type ConfirmProps = {
  readonly about: string
  readonly label: string
  readonly color?: string
  readonly change: Changing
  readonly onConfirm: () => void
}

export const Confirm = ({ about, label, color, change, onConfirm }: ConfirmProps) => (
  <div className="stack">
    <Text>{about}</Text>
    <RefusalNotice error={change.error} />
    <Button {...(color !== undefined && { color })} loading={change.isPending} onClick={onConfirm}>
      {label}
    </Button>
  </div>
)

export type Options<Chosen extends string> = readonly (readonly [value: Chosen, label: string])[]

type SelectProps<Chosen extends string> = Omit<NativeSelectProps, 'value' | 'data' | 'onChange'> & {
  readonly value: Chosen
  readonly options: Options<Chosen>
  readonly onChange: (value: Chosen) => void
}

export const Select = <Chosen extends string>({ options, onChange, ...props }: SelectProps<Chosen>) => (
  <NativeSelect
    {...props}
    data={options.map(([value, label]) => ({ value, label }))}
    onChange={(event) => onChange(event.currentTarget.value as Chosen)}
  />
)

type FlagProps = Omit<CheckboxProps, 'onChange'> & { readonly onChange: (isChecked: boolean) => void }

export const Flag = ({ onChange, ...props }: FlagProps) => (
  <Checkbox {...props} onChange={(event) => onChange(event.currentTarget.checked)} />
)

type SeveralProps = {
  readonly label: string
  /** The chosen ones, with commas. */
  readonly value: string
  readonly options: Options<string>
  readonly onChange: (value: string) => void
}

/** Any of several, in the order of the options. */
export function Several({ label, value, options, onChange }: SeveralProps) {
  const chosen = value.split(',')
  const toggle = (name: string, isChecked: boolean) =>
    onChange(
      options
        .map(([each]) => each)
        .filter((each) => (each === name ? isChecked : chosen.includes(each)))
        .join(','),
    )
  return (
    <fieldset className="choosing">
      <legend>{label}</legend>
      <div className="several">
        {options.map(([name, text]) => (
          <Flag key={name} label={text} checked={chosen.includes(name)} onChange={(is) => toggle(name, is)} />
        ))}
      </div>
    </fieldset>
  )
}

type Choice<Chosen extends string | number> = {
  readonly value: Chosen
  readonly label: ReactNode
  readonly note?: ReactNode
  readonly isDisabled?: boolean
}

type ChoicesProps<Chosen extends string | number> = {
  readonly legend: string
  readonly value: Chosen
  readonly options: readonly Choice<Chosen>[]
  readonly onChange: (value: Chosen) => void
  readonly isNarrow?: boolean
}

/** One of several, all visible: the browser's radio buttons, so arrow keys move among them. */
export function Choices<Chosen extends string | number>(props: ChoicesProps<Chosen>) {
  const name = useId()
  const { legend, value, options, onChange, isNarrow = false } = props
  return (
    <fieldset className="choosing">
      <legend>{legend}</legend>
      <div className={isNarrow ? 'choices narrow' : 'choices'}>
        {options.map((option) => (
          <label key={option.value} className="choice">
            <input
              type="radio"
              name={name}
              className="unseen"
              value={option.value}
              checked={option.value === value}
              disabled={option.isDisabled ?? false}
              onChange={() => onChange(option.value)}
            />
            <span>{option.label}</span>
            {option.note !== undefined && <small>{option.note}</small>}
          </label>
        ))}
      </div>
    </fieldset>
  )
}
