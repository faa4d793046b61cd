import { Button, PasswordInput, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { Link } from '../../client/link.ts'
import { auth, enterAs, own } from '../../client/session.ts'
import { useTyped } from '../form.tsx'
import { useWords } from '../language.tsx'
import { RefusalNotice } from '../refusal-notice.tsx'
import { Entry } from './forms.tsx'
import type { Way } from './page.tsx'
import { signInWords } from './words.ts'

type LinkProps = { readonly link: Link; readonly onWay: (way: Way) => void; readonly onFailed: () => void }

export const ByLink = (props: LinkProps) => (props.link.kind === 'reset' ? <Reset {...props} /> : <Enter {...props} />)

/** Signs in with the link, or finishes a registration: once, however often the page is drawn. */
function Enter({ link, onWay, onFailed }: LinkProps) {
  const words = useWords(signInWords)
  const entry = useMutation({
    mutationFn: () =>
      auth.call(link.kind === 'enter' ? own('signInByLink') : 'confirmAddress', { body: { link: link.secret } }),
    onSuccess: enterAs,
    onError: onFailed,
  })
  const { mutate } = entry
  useEffect(() => mutate(), [mutate])
  if (entry.error === null) return <Text role="status">{words.entering}</Text>
  return <Failed error={entry.error} onWay={onWay} />
}

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
