"""States that were saved before there were headers, as they were written: compressed, in base 85."""

from __future__ import annotations

import base64
import zlib

_STATES = {
    "frames": (
        "c-rk)J#5=X6h7IqtQJBmphlsg10e*k3m5_AIBrlFs0I%mGI+>Ppe`y(Vk99FNsyF(kOVM_3>}I>LkABTG<Zk>4;nmp$e^j{sKJ9r4;?aO@X#"
        "UgpZXq;G|w+0McSQ;9`JN`?|a|9N8Y<1YB(GYcP1FiGAtjnPgsggu{5-xB$8M94E!ct{XqiT0E3`D4Znz`q1|z@pP+u4Usp}5p=<fCrNX?FH"
        "<}7IpXRMfU2Un*%s;A|s#VvU)w$Vv!=C*z4`z-%{zALF1?}(iwfqkVm{ryM(N!6`)v$4FM3h?1QC9S}X3x#8^MM{WOv~>z6`^CbTUYIM#cU{"
        "AMdb<{&fYRq%ZU_+&0DtF&}wK3F`}ZZ>rFq>hGs7<V)rT}QEAz_A#&EQp_|yN>g{q<#qO5SeeON6S_SQ6rD>`7Or}z6shVwhIyBo*Y}ITj<`"
        "YmZL0?lhG0wts#-?E|HX2&h)Hm29v~7?FjL*?4n0uJT37q4ctHUw{QfcayCs6M=HY`zupCfKRMeT9i@|Fz!q@&BS8OVhc_|7;zo<rP^MEulD"
        "y=}NTlm<qcLykWz;Bxp5>KV76VV}DhnsG*FlSwBQ&mMC%=jJ2k>MxAv_5}0GGz%_SQd51#ttGei#+`HPgj>ra#+f8>u#i60CrI1Fl`;!0Lq2"
        "~_ol7ubJzrnvd>yCVRnF%KWe=n&<cuAVGgw28S=g=$IkOvLUvJdv*#1qhKNRd|NRBljhx>wU)I3XpXzf;6HN*1^-_N)_lLGSWr90Q+Jf%bCB"
        "^_Wx^+9>);W>imMvR*zaj_fpz48&M6C?7h$KvG~=JL00dk~N>IET8SYIk8_-6RLF#%+-W>@^to0lWG9uZ`GelDF7rvSd#fw{HZMQS);!9dCZ"
        "{nI8ft4RQz*u?u2=EQ6#$4q+qjf>c57fV=_HE08+KJjh#Eyn7%9hzxQ9!S90@Ad4XHAjsDs&p?(FJm@}DFF;n@7*^i<d2vU0x1Zr2SgV<84b"
        "H%??($`B6<G1TpCj9`xH5Yta9;~tF`quY&b3rkWBUT{?<hW(e4i%*S3Zs4bBX($JN0?>(+EEA`|qeKaCc*IW!4qA$5G<F&*ME3c)2r&HyP@4"
        "(et^$esywqg005l71$px?`MHGKb9vuyAJLxDR;&Fc^2V07x{Dc&-~|P=MmoRJwM)afx8@wE3*gZK6mpxLcI5QyoSK*Me(`d$GazR-^Sv~?2W"
        "*kyND3)0*_a^@Oh<+2tEsbylVpYWh}1Db_DKGlz0m~-hsf&UPkaK`#v+5KKJ2e1fMeZxgzjhTn696;A=$3wk_E2bNdwagJ(iTZy8P1Rym*F`"
        "Tx2MKDRAfvD<JnJaos$F=oQPJ@6|Ib;3En5^^tqZxu_e!dW8N+adQzRjaa+VA~Ce1!6ZbmX2T_c1Q8<nK!wkMExH6E;at1a*`N*Px&JG;XS4"
        "JFWgfkf=dLK2~NL{XbeSyuM&Kf;3a~W$UUh}@H)9483Z@T_}c{ECU}S79fEfW-X(aC;5~x(3En68fZzjy9~1nT;3ot>q4OT_fpC=v1kVy&BD"
        "h3wncy<Piv%wce3js<1TPW1L~w)P2En%pzD@8B!8-)+61+?B9>IGA?-RUF@BzUG1V1MDapJ>uEyehM;{X1Cvp?#)Q7lu!S?8TuV*mH{qqV6K"
        "<IwG6GQi($YZ}jO?J3U2#O>~$-(0U}+~X`)WHFyR?(@Vg-v0vs0B54e$N"
    ),
    "rows": (
        "c-o~>F%H5o47|_+0Xk$rr~?CIM@9w)MxMaR1eFjVftVP10s~KA<RLtPzl2MgKxK&uOHN|no$ENY*4l{z44ie5p@k+iPc)S>1|!Wi4J(KPFZz"
        "|fp-)48&RP^TT&-cq!Rvwj?ob}f-PXky&x4wAIoCA(nuaamM1Rz{_lnz++=RX^kGK(k{^+4WcVE}Mkw)A16zdvR)4X@v-`0d#sHWR<(bLMu="
        "_kj}*@de5ah72aCYbqZNK#*8jA&iPnV+Vc@e|eT6~5NPZ_{FrIwN>S@N$9YLO&AtNazcJ7XnB4FO=Z@8^_!-oI3*R)ZRC~huhysyfj4"
    ),
    "slide": (
        "c-p;G&2G~`5MJlkEfI=PK{@nbSx9xH9vlgwfO5zq^uPfLq10)%j)mh`w)3YFiAUhTfnyInaNx)T@CZF{;1PHT6f?7H$J-@ND5$KoyR-An&+g"
        "3Z#Bm&V3xw1Oj(u{UR7jbqK*3N-Ykm#ZQo=t~kOmkg@>N(7Q-N+Lm;w8RKBYnEj6MCi);iX7-?fmu&}WV}7|%jRznF~ruH)H8%WMMU=6MNPO"
        "dVIC`wO67>9+nFfnY#`9%td%vTcT*jVE4YG*Ny;2ae?#N7JJwQ;8Nn<!(__cf9E76MgMteVk^eW$K6yfO&4YAq5T{`O!i+PeQmc+T|B^7rnE"
        "g<=L4I@@G~=gOL@y0p>F}dvqQFX)ZCsRhSr-U_2v5pywD%!ee;_If7^xFc*!4hob`1ItQaBAs?6wQM#~v6XXvBd9>SKnB=P<TL%dhELB-1>q"
        ")-3t|sV~VcNlX;wSl5K||#bvjZmMABjK0>f%vSNi}Af6ie*x4U&$1plj=zdP{f>DkK{fl0Q^w&*Rr6yuLxNDETF~I7|F@F^?^aM?)dP|GD|E"
        "_`gw;U&Z5$^D|6W$bFQPd)%Q`LZk;mKCiaO4;_1m^q<y>3$^$+wSsx`;2YCmbFHNDNq4PqyEx%r`2w-^VRo?Jz`VxyCHQ>B-t_Q5xR;W|V-N"
        "pKtH*i-2JaI5e_G|o%!%j->5r={4&Md)j|KaOnf<BdPH4!m62oipZXZ7dADtZeDz_g}>XBn1H?AOmD9GPKd9%mU5t`&w(7D{^!{k2R3-Z@n-"
        "r!pvMfxs!OIjytVRwIdnbTi7%J2Q<!GGv44GC{ZxF+G6gc}lWNPgN9-j?*c65f^cPbB<g!@KwXp+DZ$Ij;{ZJM_yt^wYld3oKg@Qv"
    ),
    "fill": (
        "c-rk&KX21e5I?6$YKm1N5upqntO%(=LdY#3MV%Nr@DY#z1vhb>sE!@kP6G;&_y`P)3=9kz82AW`mB`S6p#viy12x?FJtr>@JAbN1V&F+Hckk"
        "}^{@wfCIpgtoJX8P*Ky3@QArCoFQNyNWCw2{gvlBb%k%;Un{*q5c{Q{WpJNAD0)bfLt=avujz59B(<CvuO%cgCkEcbWa-2=Vub=|OXZ%`f}q"
        "-Tbf-!}ad^gqUN({dWolpwS^0beKdLeoKgAN95ugj_xL&9*gzshMGIVvW(WM%vW1Ueg-S5wZ6Y$ByTnSdCiP^u4a#M2|6mO}tO9<u-h;2N~3"
        "#@Oxfh{4f$Zic^W(sBK_BdSl=?8`%m_#Q5ZK9W5HMxGEWvx-c(?-Nt=8JgzFvP?<}iJ#oA78OkEZYjB6Zm=>)J8`<a_C5YP=>e}S(9AIy)z_"
        "jHcy{VE+vlqA&*Ud;{NEpjLlk4Lsu1uB$erggw8UIwyP8LV%U-(_Cd>pcO%E<3T65li+y}|a3;{16IzS**yq<;|bKLmVH;(>#l`6ghO<w732"
        "+if3Neli!t_$=asp2CNZ34Bnmkq;n^V}D8VmlD>^F2SE=`E^5*%731%%(Ga2h1KFjb>NWeY3C=5=faiFzo=%)=RaHVovHS}z&XT^U#Qdl-wA"
        "g*zntFbu5hl~RL^YNw`}~X84p;90|Q2v(>rQHJj6TQnw=Y1mJ3-SHiv9pp62aHu{dtIrW4uNx2KcBF~a(mStpXc64w4S2Oor{AEJCO;LlU=B"
        "Cpo@uEQnjUp1xv{Z6QV+y6lQ(<Q$y)vb!;uSoL^$!{c_d-EFV>s9Nq?9Zjxlj?MJ#r&nUe^MQ#+Kc@Ww?Cazi|P*n-U^%z=VA8&hAH{;7j`e"
        "Mfebqmusbr=NalS?{w(|t8prS168U1J<jW`_Uv93DFUp$pLtQdIV$Q9D-{Sw+G@i@6{sWOYP?i"
    ),
    "fill rows": (
        "c-oawI}XAy41Fnu29zNKLLC?wJ2EnIl_DXrP?(Uo4I={s2Vvws;pHbHOAJ_gb{s!Dw&R?0S^*YbW-ypw49yco)$~D6Q`bpHJc$FbN&cC2m{9"
        "pTZMs9ULx0@+^F45&wp6!*KQH)f1sCF7a9;&?S#T@jH2D4u(S-hTj%8KNS(-3`P4lU->~BQuu50>rxZ_i<Q?Vy628*;26Dna;hx`s%X7o+ij"
        "^Eh>ahD2Tnc}x-VRN1pJS%vuh_@oX67iLY=f6>c_phJtdNHdK*2VwC2c9P>Lj"
    ),
    "assemble": (
        "c-o~>y-ve05I(m~8>$SJKqv!4N5&2e9W!=d=*Whm)@_l}1hrx3F*-8x06YW(0|O%?&w=^uB&~HK9pI#Mdj5WF_s$q&REJ2BjR8f}qkuyELI{"
        "bPP=#1!y%L=uUj)$#d4-h7H|*_@E99u=J$@Sllb-dC>pdF*a&ecZ8NMYr&lRs@c^4kfp10Vf%eBr+TYotoi3H21=gl><Vtt?KQrr3iywDu{`"
        "8{UEgELRe!Fz0ezmI+QEGxEpew$iN>1i@gbLMHfNS)8=$>Z*h+-F;+8|(e<@n1dukpGXHbgkXHBV^ybztJh&Bt$>^u8XSfu?YCNXdf+IE%$p"
        "k(!`zWEjA)LuO}mNZq${|<A$0TppM*>*x9)j)l3OG#3{8$$i9tEF`i<)nBg(QhYTMw{F0qFV)&Tp#|%#xo-n@&!zWBXW%!ioo4FH=_t#qdQ_"
        "uI(7M^VBv!vr;s=22h(+gts"
    ),
    "TwoStacks": (
        "c-oazy>1gh5T1)2$BH840wNbKPS+$z5wg$0GE_Lm2m^(YO@SbC4tsMsV&7T!6FUl)C@3f>@(2`&r$D0N0VrwcDN^tR9J4>?oEQIu)$Q%feBX"
        "SxJG*;f7>11mKn7@Ahij06RY;?SO-WAT8~9F&xT;VaVeB-X#y7>%XkP%wequk<jxD>Z-Bq>L&}sTc=h)MBRPBVgp5@pWFQ8|*X3!_L@1cLD8"
        "K&tH)9?w+@`C>M)@bV{P3jTb^p7xFL?@E%IDzd`)UthIx<(I!heppMV~lx6#(;2D-|92#MSdTFf#LcVvS^@C+EH~Hw1fUDoEMGhBGd_7&*7m"
        "WqmUu-e3rF89s{r05U1ig!&}~|?F>B2qt#l){!Za_`i6E_)a2k#7-H3KTt_<xmo=n*3OoM*z&Y|haPA8IMpke^jFwOO)PBP_pxndPmj&8u*u"
        "`St0(rl#p#3AJoedXji`v0M<lX1o#3Jp_jI#oRn64Vr&9XBE5N#CA`Gnk$G40$;?G)yvSS_jk_c{98VvpFdVDTiwGPoj|zs62=Mx1?KCw0zR"
        "=-E$WMw&ycUbNw-!}1ER5wLr*DQ?yVQ-?&7t@B(F1iV>UagXR7d#UjAHG$z$YgWrhBmAcyjjDuCd@&JKk#J=?KQG~tAL%qCydmWuNO<IDg+G"
        "$;k(B>l!XrN&i>*s_oz;|ib(n)Em*9yd__F!TnTI%TzrTuAN`7YI>wCpgr|ds!)yaeU>(QQGf7~?dyH)q(X|?A+uT?7TVi%v9e!FFu&7j}b%"
        "lKC<?Y8y&2z#Ne-zh({tyVDTk$U%urPpesg05F=Z-{pv*@o*Hr#K$=9E0U`Xj+$#RZQnrL=)nRNmE*SoHnoS)9cSk_4s!m5?9-gw;}tN0Q?0"
        "%J_3{"
    ),
}


def bare_state(kind: str) -> bytes:
    """A state of that kind."""
    return zlib.decompress(base64.b85decode(_STATES[kind]))
