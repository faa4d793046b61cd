import { NumberInput, type NumberInputProps } from '@mantine/core'
import { useState } from 'react'
import { commonMessages, useMessages } from './messages.tsx'

type NumberFieldProps = Omit<NumberInputProps, 'value' | 'onChange'> & {
  readonly value: number
  readonly onChange: (value: number) => void
}

/** A number; NaN while the field is empty. Once it was changed, a number out of the range is called one. */
export function NumberField({ value, onChange, ...props }: NumberFieldProps) {
  const { t, format } = useMessages(commonMessages)
  const [isTouched, setTouched] = useState(false)
  const { min, max } = props
  const isKnown = typeof min === 'number' && typeof max === 'number'
  const isOutside = isKnown && !(value >= min && value <= max)
  return (
    <NumberInput
      {...props}
      {...(isKnown && isTouched && isOutside && { error: t.between(format.number(min), format.number(max)) })}
      value={Number.isNaN(value) ? '' : value}
      onChange={(typed) => {
        setTouched(true)
        onChange(typed === '' ? Number.NaN : Number(typed))
      }}
    />
  )
}
