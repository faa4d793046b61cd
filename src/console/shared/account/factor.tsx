import { Button, PasswordInput, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { auth, own, recognise } from '../../client/session.ts'
import type { Who } from '../../client/sign-in.ts'
import { Copyable } from '../copy.tsx'
import { Form, useTyped } from '../form.tsx'
import { useWords } from '../language.tsx'
import { Facts, Panel } from '../parts.tsx'
import { toPicture } from '../picture.ts'
import { RefusalNotice } from '../refusal-notice.tsx'
import { accountWords } from './words.ts'

/** A code beside the password: switched on once the first code was right, off with the password. */
export function FactorPanel({ who }: { readonly who: Who }) {
  const words = useWords(accountWords)
  const password = useTyped()
  const body = { current_password: password.value }
  const begin = useMutation({ mutationFn: () => auth.call(own('beginFactorOf'), { body }) })
  const remove = useMutation({
    mutationFn: () => auth.call(own('removeFactorOf'), { body }),
    onSuccess: () => {
      password.set('')
      begin.reset()
      return recognise()
    },
  })
  if (begin.data && !who.has_factor) return <Confirming made={begin.data} />
  const change = who.has_factor ? remove : begin
  return (
    <Panel title={words.factor} className="stack">
      <Text c="dimmed">{who.has_factor ? words.factorOn : words.factorOff}</Text>
      {who.has_password ? (
        <Form className="stack" onSubmit={() => change.mutate()}>
          <PasswordInput label={words.currentPassword} autoComplete="current-password" {...password.props} />
          <RefusalNotice error={change.error} />
          <div>
            <Button type="submit" variant="default" loading={change.isPending} disabled={password.value === ''}>
              {who.has_factor ? words.factorRemove : words.factorBegin}
            </Button>
          </div>
        </Form>
      ) : (
        <Text>{words.factorNeeds}</Text>
      )}
    </Panel>
  )
}

function Confirming({ made }: { readonly made: { readonly secret: string; readonly qr: string } }) {
  const words = useWords(accountWords)
  const code = useTyped()
  const confirm = useMutation({
    mutationFn: () => auth.call(own('confirmFactorOf'), { body: { code: code.text } }),
    onSuccess: recognise,
  })
  return (
    <Panel title={words.factor} className="stack">
      <Text c="dimmed">{words.factorScan}</Text>
      <img className="qr" src={toPicture(made.qr)} alt={words.factorQr} width="240" height="240" />
      <Facts of={[[words.factorSecret, <Copyable key="secret" text={made.secret} label={words.factorSecret} />]]} />
      <Form className="line fields" onSubmit={confirm.mutate}>
        <TextInput label={words.code} inputMode="numeric" autoComplete="one-time-code" {...code.props} />
        <Button type="submit" loading={confirm.isPending} disabled={code.text === ''}>
          {words.confirm}
        </Button>
      </Form>
      <RefusalNotice error={confirm.error} />
    </Panel>
  )
}
