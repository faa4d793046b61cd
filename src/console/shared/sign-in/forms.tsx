import { Button, PasswordInput, Text, TextInput, UnstyledButton } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { CallRefused } from '../../client/call.ts'
import { auth, enterAs, enterWithToken, own, part } from '../../client/session.ts'
import { Form, useTyped } from '../form.tsx'
import { useWords } from '../language.tsx'
import { RefusalNotice } from '../refusal-notice.tsx'
import { useOffers } from './offers.ts'
import type { Way } from './page.tsx'
import { signInWords } from './words.ts'

export type Going = { readonly onWay: (way: Way) => void }

/** The other ways in, under a form. */
export function Ways({ of, onWay }: Going & { readonly of: readonly (readonly [way: Way, label: string])[] }) {
  return (
    <div className="door-ways">
      {of.map(([way, label]) => (
        <UnstyledButton key={way} className="way" onClick={() => onWay(way)}>
          {label}
        </UnstyledButton>
      ))}
    </div>
  )
}

type EntryProps = {
  readonly onSubmit: () => void
  readonly label: string
  readonly isReady: boolean
  readonly isPending?: boolean
  readonly error?: unknown
  readonly children: ReactNode
}

/** What every way in is: fields, what went wrong, and one button. */
export const Entry = ({ onSubmit, label, isReady, isPending = false, error, children }: EntryProps) => (
  <Form onSubmit={onSubmit}>
    {children}
    <RefusalNotice error={error} />
    <Button type="submit" fullWidth loading={isPending} disabled={!isReady}>
      {label}
    </Button>
  </Form>
)

/** Whether the password or the link was right and a code is still missing. */
export function wantsCode(error: unknown): boolean {
  if (!(error instanceof CallRefused) || typeof error.details !== 'object' || error.details === null) return false
  return 'code_required' in error.details && error.details.code_required === true
}

export function CodeInput({ typed }: { readonly typed: ReturnType<typeof useTyped> }) {
  const words = useWords(signInWords)
  return (
    <TextInput
      label={words.code}
      description={words.codeAbout}
      inputMode="numeric"
      autoComplete="one-time-code"
      autoFocus
      {...typed.props}
    />
  )
}

export function PasswordForm({ onWay }: Going) {
  const words = useWords(signInWords)
  const login = useTyped()
  const password = useTyped()
  const code = useTyped()
  const [isCodeWanted, setCodeWanted] = useState(false)
  const offers = useOffers()
  const given = { login: login.text, password: password.value, ...(code.text !== '' && { code: code.text }) }
  const entry = useMutation({
    mutationFn: () => auth.call(own('signIn'), { body: given }),
    onSuccess: enterAs,
    onError: (error) => wantsCode(error) && setCodeWanted(true),
  })
  const isForCustomers = part === 'customer'
  return (
    <>
      <Entry
        onSubmit={entry.mutate}
        label={words.enter}
        isReady={login.text !== '' && password.value !== '' && (!isCodeWanted || code.text !== '')}
        isPending={entry.isPending}
        error={wantsCode(entry.error) ? null : entry.error}
      >
        <TextInput label={words.login} autoComplete="username" {...login.props} />
        <PasswordInput label={words.password} autoComplete="current-password" {...password.props} />
        {isCodeWanted && <CodeInput typed={code} />}
      </Entry>
      <Ways
        onWay={onWay}
        of={[
          ...(offers?.mail && isForCustomers ? [['forgotten', words.forgotten] as const] : []),
          ...(offers?.registration && isForCustomers ? [['register', words.register] as const] : []),
          ['token', words.withToken],
        ]}
      />
    </>
  )
}

export function TokenForm({ onWay }: Going) {
  const words = useWords(signInWords)
  const token = useTyped()
  return (
    <>
      <Entry onSubmit={() => enterWithToken(token.text)} label={words.enter} isReady={token.text !== ''}>
        <PasswordInput label={words.token} description={words.tokenAbout} autoComplete="off" {...token.props} />
      </Entry>
      <Ways onWay={onWay} of={[['password', words.withPassword]]} />
    </>
  )
}

export const EmailInput = ({ typed }: { readonly typed: ReturnType<typeof useTyped> }) => (
  <TextInput label={useWords(signInWords).email} type="email" autoComplete="username" {...typed.props} />
)

export function ForgottenForm({ onWay }: Going) {
  const words = useWords(signInWords)
  const email = useTyped()
  const asked = useMutation({
    mutationFn: () => auth.call('forgotPassword', { body: { email: email.text } }),
  })
  return (
    <>
      {asked.data ? <Text role="status">{words.sentAbout}</Text> : <Text c="dimmed">{words.forgottenAbout}</Text>}
      {!asked.data && (
        <Entry
          onSubmit={asked.mutate}
          label={words.send}
          isReady={email.text !== ''}
          isPending={asked.isPending}
          error={asked.error}
        >
          <EmailInput typed={email} />
        </Entry>
      )}
      <Ways onWay={onWay} of={[['password', words.withPassword]]} />
    </>
  )
}
