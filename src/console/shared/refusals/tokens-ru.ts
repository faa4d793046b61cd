import type { Said } from './translate.ts'

/** What is wrong with a token, and the same in Russian. */
export const tokenMessages: readonly Said[] = [
  [
    'Send an API token as "Authorization: Bearer <token>". This request has none.',
    'Пришлите токен API в заголовке «Authorization: Bearer <токен>». В этом запросе его нет.',
  ],
  [
    'Send an API token as "Authorization: Bearer <token>". What was sent is not one: compare it with the original.',
    'Пришлите токен API в заголовке «Authorization: Bearer <токен>». Присланное — не токен: сравните его с оригиналом.',
  ],
  [
    'This API token is not known here. Check that it is for this shop, or create another one.',
    'Такого токена API здесь нет. Проверьте, что он от этого магазина, или создайте другой.',
  ],
  [
    'This API token has expired or was revoked. Create another one.',
    'Срок этого токена API истёк, или токен отозван. Создайте другой.',
  ],
  [
    'Send an operator\'s token as "Authorization: Bearer tpo_…", or sign in. This request has neither.',
    'Пришлите токен оператора в заголовке «Authorization: Bearer tpo_…» или войдите: этот запрос ни с тем ни с другим.',
  ],
  [
    'Send an operator\'s token as "Authorization: Bearer tpo_…". What was sent is not one: check its text.',
    'Пришлите токен оператора в заголовке «Authorization: Bearer tpo_…». Присланное — не токен: проверьте текст.',
  ],
  [
    "This operator's token is not known here. Check that it is for this shop, or create another one.",
    'Такого токена оператора здесь нет. Проверьте, что он от этого магазина, или создайте другой.',
  ],
  [
    "This operator's token has expired or was revoked, or the operator was removed. Create another one.",
    'Срок этого токена оператора истёк, токен отозван, или оператор удалён. Создайте другой.',
  ],
  [
    'Passwords, keys and secret links are shown only with the scope "passwords".',
    'Пароли, ключи и секретные ссылки видны только с правом «passwords».',
  ],
]
