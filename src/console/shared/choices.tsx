import { type ReactNode, useId } from 'react'

export type Choice<Value extends string | number> = {
  readonly value: Value
  readonly label: ReactNode
  readonly note?: ReactNode
  readonly isDisabled?: boolean
}

/** One of several, all of them to be seen. They are the browser's own radio buttons, so arrow keys move among them. */
export function Choices<Value extends string | number>({
  legend,
  value,
  options,
  onChange,
  isNarrow = false,
}: {
  readonly legend: string
  readonly value: Value
  readonly options: readonly Choice<Value>[]
  readonly onChange: (value: Value) => void
  readonly isNarrow?: boolean
}) {
  const name = useId()
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
