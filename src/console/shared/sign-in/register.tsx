import { Button, PasswordInput, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useMutation, useQuery } from '@tanstack/react-query'
import { auth, enterAs, part } from '../../client/session.ts'
import type { Who } from '../../client/sign-in.ts'
import { useTyped } from '../form.tsx'
import { useWords } from '../language.tsx'
import { EmailInput, Entry, type Going, Ways } from './forms.tsx'
import { signInWords } from './words.ts'

const longestRef = 40
const settledMs = 300

/** The code of the link that somebody came by: `/?ref=…`. */
export const broughtBy: string =
  part === 'customer' ? (new URLSearchParams(location.search).get('ref') ?? '').trim().slice(0, longestRef) : ''

export function RegisterForm({ onWay }: Going) {
  const words = useWords(signInWords)
  const email = useTyped()
  const password = useTyped()
  const ref = useTyped(broughtBy)
  const entry = useMutation({
    mutationFn: () =>
      auth.call('register', {
        body: { email: email.text, password: password.value, ...(ref.text !== '' && { ref: ref.text }) },
      }),
    // Whoever has brought himself is told so before the page turns.
    onSuccess: (done) => done.who && done.ref !== 'own' && enterAs(done.who),
  })
  if (entry.data?.confirm) return <Text role="status">{words.confirmSent}</Text>
  if (entry.data?.who) return <Own who={entry.data.who} />
  return (
    <>
      <Text c="dimmed">{words.registerAbout}</Text>
      <Entry
        onSubmit={entry.mutate}
        label={words.register}
        isReady={email.text !== '' && password.value !== ''}
        isPending={entry.isPending}
        error={entry.error}
      >
        <EmailInput typed={email} />
        <PasswordInput label={words.password} autoComplete="new-password" {...password.props} />
        {broughtBy !== '' && <TextInput label={words.ref} autoComplete="off" maxLength={longestRef} {...ref.props} />}
        {ref.text !== '' && <Ref code={ref.text} />}
      </Entry>
      <Ways onWay={onWay} of={[['password', words.haveAccount]]} />
    </>
  )
}

/** Whether the code is one of this shop. It stops nobody. */
function Ref({ code }: { readonly code: string }) {
  const words = useWords(signInWords)
  const [settled] = useDebouncedValue(code, settledMs)
  const found = useQuery({
    queryKey: ['lookAtRef', settled],
    queryFn: () => auth.call('lookAtRef', { query: { code: settled } }),
  }).data
  if (!found || settled !== code) return null
  return (
    <Text role="status" size="sm" c="dimmed">
      {words.refs[found.ref](code)}
    </Text>
  )
}

function Own({ who }: { readonly who: Who }) {
  const words = useWords(signInWords)
  return (
    <>
      <Text role="status">{words.refOwn}</Text>
      <Button onClick={() => enterAs(who)}>{words.goOn}</Button>
    </>
  )
}
