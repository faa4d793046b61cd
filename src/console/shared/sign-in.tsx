import { Button, PasswordInput, Text, Title } from '@mantine/core'
import { type FormEvent, useEffect, useState } from 'react'
import { enter } from '../client/session.ts'
import { LanguageSwitch, ThemeSwitch } from './frame.tsx'
import { Mark } from './icons.tsx'
import { useWords, type Words } from './language.tsx'

const en = {
  title: 'Sign in',
  about: 'With an API token of yours. It stays in this tab and is forgotten with it.',
  token: 'API token',
  enter: 'Sign in',
  docs: 'The API and its documentation',
}
const ru: typeof en = {
  title: 'Вход',
  about: 'С вашим токеном API. Он остаётся в этой вкладке и забывается вместе с ней.',
  token: 'Токен API',
  enter: 'Войти',
  docs: 'API и его документация',
}
const signInWords: Words<typeof en> = { en, ru }

export function SignIn({ onEntered }: { readonly onEntered: () => void }) {
  const words = useWords(signInWords)
  const [token, setToken] = useState('')
  useEffect(() => {
    document.title = `${words.title} · Turnpike`
  }, [words])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onEntered()
    enter(token.trim())
  }
  return (
    <div className="door">
      <header className="door-head">
        <span className="brand">
          <Mark /> Turnpike
        </span>
        <div className="switches">
          <LanguageSwitch />
          <ThemeSwitch />
        </div>
      </header>
      <main className="door-card">
        <Title order={1}>{words.title}</Title>
        <Text c="dimmed">{words.about}</Text>
        <form onSubmit={submit}>
          <PasswordInput label={words.token} value={token} onChange={(event) => setToken(event.currentTarget.value)} />
          <Button type="submit" fullWidth disabled={token.trim() === ''}>
            {words.enter}
          </Button>
        </form>
      </main>
      <footer>
        <a href="/docs">{words.docs}</a>
      </footer>
    </div>
  )
}
