import { Button, PasswordInput, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { CallRefused } from '../../client/call.ts'
import type { Link } from '../../client/link.ts'
import { auth, enterAs, own } from '../../client/session.ts'
import { useTyped } from '../form.tsx'
import { useWords } from '../language.tsx'
import { RefusalNotice } from '../refusal-notice.tsx'
import { CodeInput, Entry, Ways, wantsCode } from './forms.tsx'
import { useOffers } from './offers.ts'
import type { Way } from './page.tsx'
import { signInWords } from './words.ts'

type LinkProps = { readonly link: Link; readonly onWay: (way: Way) => void; readonly onFailed: () => void }

export function ByLink(props: LinkProps) {
  const forms = { enter: Enter, confirm: Confirm, reset: Reset }
  const Form = forms[props.link.kind]
  return <Form {...props} />
}

/** Signs in with the link, once however often the page is drawn, and asks for the second factor where there is one. */
function Enter({ link, onWay, onFailed }: LinkProps) {
  const words = useWords(signInWords)
  const code = useTyped()
  const [isCodeWanted, setCodeWanted] = useState(false)
  const entry = useMutation({
    mutationFn: () => {
      return auth.call(own('signInByLink'), {
        body: { link: link.secret, ...(code.text !== '' && { code: code.text }) },
      })
    },
    onSuccess: enterAs,
    onError: (error) => (wantsCode(error) ? setCodeWanted(true) : hasEnded(error) && onFailed()),
  })
  const { mutate } = entry
  useEffect(() => mutate(), [mutate])
  if (isCodeWanted && !hasEnded(entry.error)) {
    return (
      <Entry
        onSubmit={mutate}
        label={words.enter}
        isReady={code.text !== ''}
        isPending={entry.isPending}
        error={wantsCode(entry.error) ? null : entry.error}
      >
        <CodeInput typed={code} />
      </Entry>
    )
  }
  if (entry.error === null) return <Text role="status">{words.entering}</Text>
  return <Failed error={entry.error} onWay={onWay} />
}

/** Finishes a registration, for whoever knows the password that was chosen for it. */
function Confirm({ link, onWay, onFailed }: LinkProps) {
  const words = useWords(signInWords)
  const password = useTyped()
  const offers = useOffers()
  const entry = useMutation({
    mutationFn: () => auth.call('confirmAddress', { body: { link: link.secret, password: password.value } }),
    onSuccess: enterAs,
    onError: (error) => hasEnded(error) && onFailed(),
  })
  if (hasEnded(entry.error)) return <Failed error={entry.error} onWay={onWay} />
  return (
    <>
      <Text c="dimmed">{words.confirmAbout}</Text>
      <Entry
        onSubmit={entry.mutate}
        label={words.confirm}
        isReady={password.value !== ''}
        isPending={entry.isPending}
        error={entry.error}
      >
        <PasswordInput label={words.password} autoComplete="current-password" {...password.props} />
      </Entry>
      <Text c="dimmed">{words.confirmUnknown}</Text>
      <Ways
        onWay={onWay}
        of={[
          ...(offers?.registration ? [['register', words.registerAnew] as const] : []),
          ...(offers?.mail ? [['forgotten', words.setOwn] as const] : []),
        ]}
      />
    </>
  )
}

/** Whether a link does nothing any more: it was used or is too old, or its address has come in another way. */
const hasEnded = (error: unknown): boolean =>
  error instanceof CallRefused && (error.code === 'not_found' || error.code === 'conflict')

function Failed({ error, onWay }: { readonly error: unknown; readonly onWay: (way: Way) => void }) {
  const words = useWords(signInWords)
  return (
    <>
      <RefusalNotice error={error} />
      <Text c="dimmed">{words.linkFailedAbout}</Text>
      <Button variant="default" onClick={() => onWay('password')}>
        {words.enter}
      </Button>
    </>
  )
}

function Reset({ link, onWay }: LinkProps) {
  const words = useWords(signInWords)
  const password = useTyped()
  const change = useMutation({
    mutationFn: () => auth.call('resetPassword', { body: { link: link.secret, password: password.value } }),
  })
  if (change.data) {
    return (
      <>
        <Text role="status">{words.passwordSet}</Text>
        <Button onClick={() => onWay('password')}>{words.enter}</Button>
      </>
    )
  }
  return (
    <Entry
      onSubmit={change.mutate}
      label={words.setPassword}
      isReady={password.value !== ''}
      isPending={change.isPending}
      error={change.error}
    >
      <PasswordInput label={words.newPassword} autoComplete="new-password" {...password.props} />
    </Entry>
  )
}
