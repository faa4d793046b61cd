/**
 * Links of letters and old bookmarks have their path behind the `#`, which the shop does not see: the console takes
 * them. A change in the calculator shows its price without a reload.
 */
export const script = `
if(/^#(?:(?:enter|confirm|reset)=|\\/)/.test(location.hash))location.replace('/account'+location.search+location.hash);
(function(){
var form=document.getElementById('calculate'),result=document.getElementById('result'),turn=0;
if(!form||!result)return;
function ask(){
var query=new URLSearchParams(new FormData(form)),own=++turn;
fetch('/price?'+query).then(function(answer){return answer.ok?answer.text():''}).then(function(text){
if(text&&own===turn)result.innerHTML=text}).catch(function(){});
}
form.addEventListener('change',ask);
form.addEventListener('input',ask);
form.addEventListener('submit',function(event){event.preventDefault();ask()});
})();
`
