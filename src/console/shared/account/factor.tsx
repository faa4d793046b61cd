import { Button, PasswordInput, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { auth, own, recognise } from '../../client/session.ts'
import type { Who } from '../../client/sign-in.ts'
import { Copyable } from '../copy.tsx'
import { useWords } from '../language.tsx'
import { Facts, Panel } from '../parts.tsx'
import { toPicture } from '../picture.ts'
import { RefusalNotice } from '../refusal-notice.tsx'
import { Form } from '../sign-in/forms.tsx'
import { accountWords } from './words.ts'

/** A code beside the password: switched on once the first code was right, off with the password. */
export function FactorPanel({ who }: { readonly who: Who }) {
  const words = useWords(accountWords)
  const [password, setPassword] = useState('')
  const body = { current_password: password }
  const begin = useMutation({ mutationFn: () => auth.call(own('beginFactorOf'), { body }) })
  const remove = useMutation({
    mutationFn: () => auth.call(own('removeFactorOf'), { body }),
    onSuccess: () => {
      setPassword('')
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
        <Form onSubmit={() => change.mutate()}>
          <div className="stack">
            <PasswordInput
              label={words.currentPassword}
              autoComplete="current-password"
              value={password}
              onChange={(event) => setPassword(event.currentTarget.value)}
            />
            <RefusalNotice error={change.error} />
            <div>
              <Button type="submit" variant="default" loading={change.isPending} disabled={password === ''}>
                {who.has_factor ? words.factorRemove : words.factorBegin}
              </Button>
            </div>
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
  const [code, setCode] = useState('')
  const confirm = useMutation({
    mutationFn: () => auth.call(own('confirmFactorOf'), { body: { code: code.trim() } }),
    onSuccess: recognise,
  })
  return (
    <Panel title={words.factor} className="stack">
      <Text c="dimmed">{words.factorScan}</Text>
      <img className="qr" src={toPicture(made.qr)} alt={words.factorQr} width="240" height="240" />
      <Facts of={[[words.factorSecret, <Copyable key="secret" text={made.secret} label={words.factorSecret} />]]} />
      <Form onSubmit={confirm.mutate}>
        <div className="line fields">
          <TextInput
            label={words.code}
            inputMode="numeric"
            autoComplete="one-time-code"
            value={code}
            onChange={(event) => setCode(event.currentTarget.value)}
          />
          <Button type="submit" loading={confirm.isPending} disabled={code.trim() === ''}>
            {words.confirm}
          </Button>
        </div>
      </Form>
      <RefusalNotice error={confirm.error} />
    </Panel>
  )
}
