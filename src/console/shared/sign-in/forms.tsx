import { Button, PasswordInput, Text, TextInput, UnstyledButton } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { CallRefused } from '../../client/call.ts'
import { auth, enterAs, enterWithToken, own, part } from '../../client/session.ts'
import { useWords } from '../language.tsx'
import { RefusalNotice } from '../refusal-notice.tsx'
import type { Way } from './page.tsx'
import { signInWords } from './words.ts'

type Going = { readonly onWay: (way: Way) => void }

export function Form({ onSubmit, children }: { readonly onSubmit: () => void; readonly children: ReactNode }) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      {children}
    </form>
  )
}

const Way = ({ label, onGo }: { readonly label: string; readonly onGo: () => void }) => (
  <UnstyledButton className="way" onClick={onGo}>
    {label}
  </UnstyledButton>
)

/** Whether the password was right and a code is still missing. */
function wantsCode(error: unknown): boolean {
  if (!(error instanceof CallRefused) || typeof error.details !== 'object' || error.details === null) return false
  return 'code_required' in error.details && error.details.code_required === true
}

export function PasswordForm({ onWay }: Going) {
  const words = useWords(signInWords)
  const [login, setLogin] = useState('')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const offers = useQuery({ queryKey: ['offers'], queryFn: () => auth.call(own('getOffersFor')) }).data
  const entry = useMutation({
    mutationFn: () =>
      auth.call(own('signIn'), { body: { login: login.trim(), password, ...(code !== '' && { code: code.trim() }) } }),
    onSuccess: enterAs,
  })
  const isCodeWanted = code !== '' || wantsCode(entry.error)
  return (
    <>
      <Form onSubmit={entry.mutate}>
        <TextInput
          label={words.login}
          autoComplete="username"
          value={login}
          onChange={(event) => setLogin(event.currentTarget.value)}
        />
        <PasswordInput
          label={words.password}
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        {isCodeWanted && (
          <TextInput
            label={words.code}
            description={words.codeAbout}
            inputMode="numeric"
            autoComplete="one-time-code"
            autoFocus
            value={code}
            onChange={(event) => setCode(event.currentTarget.value)}
          />
        )}
        {!(wantsCode(entry.error) && code === '') && <RefusalNotice error={entry.error} />}
        <Button type="submit" fullWidth loading={entry.isPending} disabled={login.trim() === '' || password === ''}>
          {words.enter}
        </Button>
      </Form>
      <div className="door-ways">
        {offers?.mail && part === 'customer' && <Way label={words.forgotten} onGo={() => onWay('forgotten')} />}
        {offers?.registration && part === 'customer' && <Way label={words.register} onGo={() => onWay('register')} />}
        <Way label={words.withToken} onGo={() => onWay('token')} />
      </div>
    </>
  )
}

export function TokenForm({ onWay }: Going) {
  const words = useWords(signInWords)
  const [token, setToken] = useState('')
  return (
    <>
      <Form onSubmit={() => enterWithToken(token.trim())}>
        <PasswordInput
          label={words.token}
          description={words.tokenAbout}
          autoComplete="off"
          value={token}
          onChange={(event) => setToken(event.currentTarget.value)}
        />
        <Button type="submit" fullWidth disabled={token.trim() === ''}>
          {words.enter}
        </Button>
      </Form>
      <div className="door-ways">
        <Way label={words.withPassword} onGo={() => onWay('password')} />
      </div>
    </>
  )
}

export function RegisterForm({ onWay }: Going) {
  const words = useWords(signInWords)
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const entry = useMutation({
    mutationFn: () => auth.call('register', { body: { email: email.trim(), password } }),
    onSuccess: ({ who }) => who && enterAs(who),
  })
  if (entry.data?.confirm) return <Text>{words.confirmSent}</Text>
  return (
    <>
      <Text c="dimmed">{words.registerAbout}</Text>
      <Form onSubmit={entry.mutate}>
        <TextInput
          label={words.email}
          type="email"
          autoComplete="username"
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <PasswordInput
          label={words.password}
          autoComplete="new-password"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        <RefusalNotice error={entry.error} />
        <Button type="submit" fullWidth loading={entry.isPending} disabled={email.trim() === '' || password === ''}>
          {words.register}
        </Button>
      </Form>
      <div className="door-ways">
        <Way label={words.haveAccount} onGo={() => onWay('password')} />
      </div>
    </>
  )
}

export function ForgottenForm({ onWay }: Going) {
  const words = useWords(signInWords)
  const [email, setEmail] = useState('')
  const asked = useMutation({
    mutationFn: () => auth.call('forgotPassword', { body: { email: email.trim() } }),
  })
  return (
    <>
      <Text c="dimmed">{asked.data ? words.sentAbout : words.forgottenAbout}</Text>
      {!asked.data && (
        <Form onSubmit={asked.mutate}>
          <TextInput
            label={words.email}
            type="email"
            autoComplete="username"
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
          <RefusalNotice error={asked.error} />
          <Button type="submit" fullWidth loading={asked.isPending} disabled={email.trim() === ''}>
            {words.send}
          </Button>
        </Form>
      )}
      <div className="door-ways">
        <Way label={words.withPassword} onGo={() => onWay('password')} />
      </div>
    </>
  )
}
