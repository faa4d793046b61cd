import { type ChangeEvent, type ReactNode, useState } from 'react'

/** A form that the page itself answers: the browser goes nowhere, and what is wrong the shop says, in one language. */
export function Form({
  onSubmit,
  className = '',
  children,
}: {
  readonly onSubmit: () => void
  readonly className?: string
  readonly children: ReactNode
}) {
  return (
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
}

/** What somebody types into a field: `props` go to the input, `text` is it without what surrounds it. */
export function useTyped(initial = '') {
  const [value, set] = useState(initial)
  const onChange = (event: ChangeEvent<HTMLInputElement>): void => set(event.currentTarget.value)
  return { value, set, text: value.trim(), props: { value, onChange } }
}
